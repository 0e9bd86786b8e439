import { aliasKindOf, isAmount, isId, isNumeric } from './column-kinds.ts';
import type { Report } from './report.ts';
import type { ReportColumn } from './view-columns.ts';

const amounts = ['net', 'billed', 'requested', 'estimated', 'payment', 'paid', 'due'].map(
  (name) => `${name}_amount`,
);
const places = ['doctor', 'clinic', 'business'];

/** What a row is read for, from left to right. */
const ranks: readonly ((column: ReportColumn, lead: string) => boolean | number)[] = [
  ({ name }, lead) => name === lead,
  ({ name, type }) => type === 'date' || /^days_|_at$/.test(name),
  ({ name }) => /^(receipt|inpatient)_number$/.test(name),
  (column) => isAmount(column) && (amounts.indexOf(column.name) + 1 || amounts.length + 1),
  ({ name }) => /(^|_)(name|mobile|phone)$/.test(name),
  ({ name }) => places.indexOf(aliasKindOf(name) ?? '') + 1,
  ({ name }) => /^(state|status|stage|kind|type)$/.test(name),
  (column) => isNumeric(column),
  ({ name }) => !isId(name),
];

/** What is read on a record's page, or by programs. */
const everywhere =
  /^(client_id|last_event|archive|flavour|actor|aid|action|remarks|transaction_reference|rrn|asked_at|(updated|modified|created|received|applied)_at|event_time|partner_.*|.*_(link|url|version)|.*_discount_.*|deleted_(receipts|net_amount)|cancelled_by_.*|.*_without_prescription|.*_(share|hours))$/;

const isDetail = (
  { families, details }: Report,
  { name, type }: ReportColumn,
  lead: string,
  names: readonly string[],
) =>
  everywhere.test(name) ||
  details?.includes(name) ||
  type === 'jsonb' ||
  (name === 'day' && /_(at|time)$|^hour$/.test(lead)) ||
  (name === 'delivery_id' && families.length > 0) ||
  (name === 'status' && names.includes('state')) ||
  (/^(receipt|payment)_id$/.test(name) && names.includes('receipt_number'));

/**
 * The columns of a report's page, in the order in which a row is read: time, money, people and places, state; ids last.
 *
 * @param all otherwise without those that are read on a record's page
 */
export function layOut(
  report: Report,
  columns: readonly ReportColumn[],
  all: boolean,
): readonly ReportColumn[] {
  const lead = /^\w+/.exec(report.order)![0];
  const names = columns.map(({ name }) => name);
  const placeOf = (column: ReportColumn) => {
    const rank = ranks.findIndex((isOf) => isOf(column, lead));
    return rank < 0 ? ranks.length * 100 : rank * 100 + Number(ranks[rank]!(column, lead));
  };
  return columns
    .filter((column) => all || column.name === lead || !isDetail(report, column, lead, names))
    .toSorted((one, other) => placeOf(one) - placeOf(other));
}
