import type { ComponentChildren } from 'preact';
import { type Family, families, meaningOf, titleOf } from '../../families/index.ts';
import { type Hit, shownHits } from '../../search/hit.ts';
import type { AliasKind } from '../../store/aliases.ts';
import { recordHref, titled, words } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { Amount, Moment, Named, Nothing } from '../ui/values.tsx';

/** The page of what was found, but for a patient. */
export function hrefOf({ kind, business_id, id }: Hit): string {
  if (kind === 'delivery') return `/console/deliveries/${id}`;
  return kind === 'quarantine' ? `/console/quarantine/${id}` : recordHref(kind, business_id ?? '', id);
}

interface GroupProps<Row> {
  title: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  /** How many rows are shown; a note says where there are more. */
  most?: number | undefined;
}

/** A titled list; nothing where it is empty. */
export function Group<Row>({ title, rows, columns, most = shownHits }: GroupProps<Row>) {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      {rows.length > most && (
        <p class="note">
          There are more than {most}; the latest {most} are shown.
        </p>
      )}
      <Table label={title} rows={rows.slice(0, most)} columns={columns} />
    </>
  );
}

const byKind = new Map((families as readonly Family[]).map((family) => [family.name, family]));
const messages: Record<string, string> = { delivery: 'message as received', quarantine: 'rejected message' };

/** What people call records of a kind: Receipts. */
function titleOfKind(kind: string): string {
  const family = byKind.get(kind);
  return family ? titled(family.title ? `${family.title}s` : words(family.table)) : 'Messages';
}

interface HitsProps {
  hits: readonly Hit[];
  most?: number | undefined;
  /** What the list is called; without it, there is one for each kind. */
  title?: string;
}

/** Lists of records, in the order of the families. */
export function Hits({ hits, most, title }: HitsProps) {
  const listOf = ({ kind }: Hit) => title ?? titleOfKind(kind);
  const kinds = [...byKind.keys(), ...Object.keys(messages)];
  const sorted = hits.toSorted((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind));
  return [...new Set(sorted.map(listOf))].map((list) => {
    const rows = sorted.filter((hit) => listOf(hit) === list);
    return <Group key={list} title={list} {...{ rows, most }} columns={columnsOf(rows)} />;
  });
}

export const amount = (value: string | null | undefined) => (value ? <Amount value={value} /> : <Nothing />);

const named = (kind: AliasKind) => (id: string | null | undefined) => <Named kind={kind} id={id} />;

type Shown = [
  head: string,
  value: (hit: Hit) => string | null | undefined,
  show?: (value: string | null | undefined) => ComponentChildren,
];

const money: Shown[] = [
  ['Amount', ({ details }) => details.net, amount],
  ['Paid', ({ details }) => details.paid, amount],
  ['Due', ({ details }) => details.due, amount],
];
const others: Shown[] = [
  ['Begins', ({ details }) => details.begins, (at) => at && <Moment at={new Date(at)} />],
  ['Name', ({ details }) => details.name],
  ['Note', ({ details: { note, deleted } }) => note ?? (deleted ? 'deleted' : '')],
  ['Doctor', ({ details }) => details.doctor, named('doctor')],
  ['Clinic', ({ details }) => details.clinic, named('clinic')],
  ['Business', ({ business_id }) => business_id, named('business')],
];

/** The columns of records of one kind; those that would be empty, or tell of each the same look-up, are left out. */
function columnsOf(hits: readonly Hit[]): Column<Hit>[] {
  const given = (shown: Shown[], numeric: boolean) =>
    shown
      .filter(([, value]) => hits.some(value))
      .map(([head, value, show]) => ({
        head,
        cell: (hit: Hit) => show?.(value(hit)) ?? (value(hit) || <Nothing />),
        numeric,
      }));
  const isFoundByOne = new Set(hits.map(({ by }) => by)).size === 1;
  return [
    { head: titleOfHit(hits[0]!), cell: (hit) => <a href={hrefOf(hit)}>{textOf(hit)}</a> },
    ...given(money, true),
    { head: 'Time', cell: ({ at }) => <Moment at={at} /> },
    ...given(others, false),
    ...(isFoundByOne ? [] : [{ head: 'Found by', cell: ({ by }: Hit) => by }]),
  ];
}

function titleOfHit({ kind }: Hit): string {
  const family = byKind.get(kind);
  return titled(family ? titleOf(family) : messages[kind]!);
}

/** The printed number of a record, or else its state; of others the id. */
function textOf(hit: Hit): string {
  const { number, status } = hit.details;
  const family = byKind.get(hit.kind);
  return (
    number ||
    (status && family ? titled(meaningOf(family, 'status', status)) : `${titleOfHit(hit)} ${hit.id}`)
  );
}
