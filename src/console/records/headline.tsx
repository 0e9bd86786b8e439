import { useContext } from 'preact/hooks';
import { formatMoment, parseMoment } from '../../common/times.ts';
import { type Family, labelOf, meaningOf, publicKey, titleOf } from '../../families/index.ts';
import { isHidden } from '../../privacy/redact.ts';
import { aliasKindOf } from '../../reports/column-kinds.ts';
import type { Version } from '../../search/record.ts';
import { VisitContext } from '../ui/context.ts';
import { recordHref, titled, words } from '../ui/links.ts';
import { formatAmount } from '../ui/values.tsx';

const mostOfId = 15;

/** A short number that people may know the record by: the printed one, or its id. */
function numberOf(family: Family, row: Version['row']): string | undefined {
  const key = publicKey(family);
  const number = (family.printed && row[family.printed]) || (key && row[key]);
  return number && number.length <= mostOfId ? number : undefined;
}

const dayOf = (row: Version['row'], timezone: string): string => {
  const at = parseMoment(row.created_at ?? '') ?? parseMoment(row.event_time!);
  return at ? formatMoment(at, timezone).replace(/, .*/, '') : '';
};

/** What people call a record: Receipt R-1428, or Appointment of 19 Nov 2026. */
export function nameOfRecord(family: Family, row: Version['row'], timezone: string): string {
  const number = numberOf(family, row);
  return titled(titleOf(family)) + (number ? ` ${number}` : ` of ${dayOf(row, timezone)}`);
}

interface HeadlineProps {
  family: Family;
  row: Version['row'];
}

/** What a record is, in one line: amounts or state, doctor and clinic by name, day. */
export function Headline({ family, row }: HeadlineProps) {
  const { aliases, currency, timezone } = useContext(VisitContext);
  const { headline = [], identifiedBy, fields } = family;
  const isAmount = (name: string) => fields[name]!.json === 'numeric';
  const given = headline.filter((name) => row[name] && !isHidden(row[name]));
  const amounts = given
    .filter(isAmount)
    .filter((name, place) => place === 0 || Number(row[name]) !== 0)
    .map((name) => `${formatAmount(row[name]!, currency)} ${labelOf(family, name).toLowerCase()}`);
  const states = given
    .filter((name) => !isAmount(name))
    .map((name) => meaningOf(family, name, row[name]!).toLowerCase());
  const names = ['doctor', 'clinic'].flatMap((kind) =>
    Object.keys(fields).flatMap((name) => {
      const alias = aliasKindOf(name);
      return (alias === kind && aliases?.[alias].get(row[name] ?? '')) || [];
    }),
  );
  const event = row.last_event!.split('.').map(words);
  const parts = [
    row.deleted_at && 'deleted',
    !identifiedBy && family.events.length > 1 && event.slice(-2).join(' '),
    amounts.join(', '),
    ...states,
    names.join(', '),
    numberOf(family, row) && dayOf(row, timezone),
  ];
  return <>{parts.filter(Boolean).join(' · ')}</>;
}

/** A link to a record, in one line. */
export function RecordLine({ family, row, id }: HeadlineProps & { id: string }) {
  const { timezone } = useContext(VisitContext);
  return (
    <>
      <a href={recordHref(family.name, row.business_id!, id)}>{nameOfRecord(family, row, timezone)}</a>
      {' · '}
      <Headline {...{ family, row }} />
    </>
  );
}
