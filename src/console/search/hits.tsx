import type { ComponentChildren } from 'preact';
import type { AliasKind } from '../../common/aliases.ts';
import { type Family, families, labelOf, meaningOf, titleOf } from '../../families/index.ts';
import { type Hit, shownHits } from '../../search/hit.ts';
import { recordHref, titled } from '../ui/links.ts';
import { type Column, Table } from '../ui/table.tsx';
import { Amount, Id, Moment, Named, Nothing, WrittenMoment } from '../ui/values.tsx';

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
/** What is no record: a delivery, or a rejected body. */
const messages = 'messages';

/** What people call records of a kind: Receipts. */
function titleOfKind(kind: string): string {
  const family = byKind.get(kind);
  return titled(family?.title ? `${family.title}s` : (family?.table ?? messages));
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
  const sorted = [...byKind.keys(), 'delivery', 'quarantine'].flatMap((kind) =>
    hits.filter((hit) => hit.kind === kind),
  );
  return [...new Set(sorted.map(listOf))].map((list) => {
    const rows = sorted.filter((hit) => listOf(hit) === list);
    return <Group key={list} title={list} {...{ rows, most }} columns={columnsOf(rows)} />;
  });
}

type Shown = [
  head: string,
  value: (hit: Hit) => string | null | undefined,
  show?: (value: string) => ComponentChildren,
];

const money = (value: string) => <Amount value={value} />;
const moment = (value: string) => <Moment at={new Date(value)} />;
const written = (value: string) => <WrittenMoment value={value} />;
const named = (kind: AliasKind) => (id: string) => <Named kind={kind} id={id} />;

const timeHead = 'Time';
const shown: Shown[] = [
  ['Amount', ({ details }) => details.net, money],
  ['Paid', ({ details }) => details.paid, money],
  ['Due', ({ details }) => details.due, money],
  [timeHead, ({ at }) => at?.toISOString(), moment],
  ['Begins', ({ details }) => details.begins, written],
  ['Name', ({ details }) => details.name],
  ['Note', ({ details: { note, deleted } }) => note ?? (deleted ? 'deleted' : '')],
  ['Doctor', ({ details }) => details.doctor, named('doctor')],
  ['Clinic', ({ details }) => details.clinic, named('clinic')],
  ['Business', ({ business_id }) => business_id, named('business')],
];
const foundBy: Shown = ['Found by', ({ by }) => by];

/** The columns of records of one kind; those that would be empty, or tell of each the same look-up, are left out. */
function columnsOf(hits: readonly Hit[]): Column<Hit>[] {
  const { kind } = hits[0]!;
  const family = byKind.get(kind);
  const isFoundByOne = new Set(hits.map(({ by }) => by)).size === 1;
  const given = (isFoundByOne ? shown : [...shown, foundBy]).filter(([, value]) => hits.some(value));
  return [
    { head: titled(family ? titleOf(family) : messages), cell: (hit) => <Link {...hit} /> },
    ...given.map(([head, value, show = String]) => ({
      head: head === timeHead && family?.fields.created_at ? labelOf(family, 'created_at') : head,
      cell: (hit: Hit) => (value(hit) ? show(value(hit)!) : <Nothing />),
      numeric: show === money,
    })),
  ];
}

/** A link with the printed number of a record, or else its state; of others the id. */
function Link(hit: Hit) {
  const { number, status } = hit.details;
  const family = byKind.get(hit.kind);
  const text = number || (status && family && titled(meaningOf(family, 'status', status)));
  return text ? <a href={hrefOf(hit)}>{text}</a> : <Id id={hit.id} href={hrefOf(hit)} />;
}
