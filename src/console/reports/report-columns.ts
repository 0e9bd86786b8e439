import { type QueryExecutorProvider as Db, sql } from 'kysely';
import { type Family, labelOf } from '../../callbacks/families/family.ts';
import { families } from '../../callbacks/families/index.ts';
import { titled } from '../../common/words.ts';
import { type AliasKind, aliasKinds } from '../../reconcile/aliases.ts';
import type { Report } from './definitions.ts';
import { read } from './read.ts';

/** A column of a table or a view, with its type as PostgreSQL's format_type writes it. */
export interface TypedColumn {
  name: string;
  type: string;
}

export interface ReportColumn extends TypedColumn {
  comment: string | null;
  personal: boolean;
}

export async function readComments(db: Db): Promise<ReadonlyMap<string, string>> {
  const comments = sql<{ name: string; comment: string }>`
    select relname as name, obj_description(oid, 'pg_class') as comment
    from pg_class where relnamespace = 'reporting'::regnamespace
    union all
    select proname, obj_description(oid, 'pg_proc')
    from pg_proc where pronamespace = 'reporting'::regnamespace`;
  return new Map((await read(db, comments)).map(({ name, comment }) => [name, comment]));
}

export const readColumns = (db: Db, { view, rowsOf = view }: Report): Promise<ReportColumn[]> =>
  read(
    db,
    sql<ReportColumn>`
      select attname as name, format_type(atttypid, null) as type, col_description(attrelid, attnum) as comment,
             not reporting.is_public(attname, atttypid) as personal
      from pg_attribute where attrelid = ${`reporting.${rowsOf}`}::regclass and attnum > 0 and not attisdropped
      order by attnum`,
  );

const aliased: Record<AliasKind, readonly string[]> = {
  business: ['business_id', 'bid', 'owner'],
  clinic: ['clinic_id', 'facility_id', 'facilityid'],
  doctor: ['doctor_id', 'doctor_oid', 'docid'],
};

export const aliasKindOf = (name: string): AliasKind | undefined =>
  aliasKinds.find((kind) => aliased[kind].includes(name));

export const isId = (name: string) => /(^|_)(id|oid|number|archive)$/.test(name);

export const isAmount = ({ name, type }: TypedColumn) =>
  type === 'numeric' && !isId(name) && !/_(seconds|hours|share|callbacks)$|^quantity$/.test(name);

/** Its digits are compared: they stand on the right. */
export const isNumeric = ({ name, type }: TypedColumn) =>
  ['numeric', 'bigint', 'integer', 'double precision', 'interval'].includes(type) && !isId(name);

export const isSummable = (column: TypedColumn) =>
  (isAmount(column) || ['bigint', 'integer'].includes(column.type)) &&
  !isId(column.name) &&
  !/(^|_)(version|days|rate|value)(_|$)/.test(column.name);

const recordColumns: Record<string, string> = {
  ...Object.fromEntries(
    (families as readonly Family[]).flatMap(({ name, key }) => (key ? [[`${name}_id`, name]] : [])),
  ),
  form_id: 'consent_form',
  aid: 'appointment',
};

export const familyOfId = (name: string): string | undefined => recordColumns[name];

/** Columns that hold a field of a record by another name. */
const fieldOf: Record<string, string> = {
  gross_amount: 'receipt_amount',
  item_discount_amount: 'sku_discount_amount',
};

/** Columns beside one that would have the same name. */
const beside: Record<string, string> = {
  estimated_at: 'Estimated at',
  owner: 'Owner',
  doctor: 'Doctor’s name',
  facility: 'Clinic’s name',
};

/** A column's name for people, wherever it is shown: as on the page of a record, where that shows the same field. */
export function labelOfColumn(report: Report, name: string): string {
  const field = fieldOf[name] ?? name;
  const labels = families.flatMap((family) =>
    report.families.includes(family.name) ? labelOf(family, field) : [],
  );
  const own = beside[name] ?? labels.find((label) => label !== titled(field));
  return own ?? titled(aliasKindOf(name) ?? name.replace(/_(amount|at)$/, ''));
}

const amounts = ['net', 'billed', 'requested', 'estimated', 'payment', 'paid', 'due'].map(
  (name) => `${name}_amount`,
);
const places = ['doctor', 'clinic', 'business'];

/** The kinds of columns in the order in which a row is read. */
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

/** Read on a record's page, or by programs. */
const details =
  /^(client_id|last_event|archive|flavour|actor|aid|action|remarks|transaction_reference|rrn|asked_at|(updated|modified|created|received|applied)_at|event_time|partner_.*|.*_(link|url|version)|.*_discount_.*|deleted_(receipts|net_amount)|cancelled_by_.*|.*_without_prescription|.*_(share|hours))$/;

/** Time, money, people and places, state; ids last. @param all with those that are read on a record's page */
export function layOut(
  report: Report,
  columns: readonly ReportColumn[],
  all: boolean,
): readonly ReportColumn[] {
  const lead = /^\w+/.exec(report.order)?.[0] ?? '';
  const has = (wanted: string) => columns.some(({ name }) => name === wanted);
  const isDetail = ({ name, type }: ReportColumn) =>
    details.test(name) ||
    report.details?.includes(name) ||
    type === 'jsonb' ||
    (name === 'day' && /_(at|time)$|^hour$/.test(lead)) ||
    (name === 'delivery_id' && report.families.length > 0) ||
    (name === 'status' && has('state')) ||
    (/^(receipt|payment)_id$/.test(name) && has('receipt_number'));
  const placeOf = (column: ReportColumn) => {
    const ofRank = ranks.map((rank) => Number(rank(column, lead)));
    const rank = ofRank.findIndex(Boolean);
    return rank < 0 ? ranks.length * 100 : rank * 100 + ofRank[rank]!;
  };
  return columns
    .filter((column) => all || column.name === lead || !isDetail(column))
    .toSorted((one, other) => placeOf(one) - placeOf(other));
}
