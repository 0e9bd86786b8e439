import { type Kysely, sql } from 'kysely';
import { type Family, publicColumns } from '../../families/index.ts';
import type { Tables } from '../../store/tables.ts';
import { isPublicField } from '../redact.ts';
import type { Report } from './reports.ts';

export interface ReportColumn {
  name: string;
  type: string;
  /** The database's comment on it. */
  comment: string | null;
  /** Whether it may hold personal data. */
  personal: boolean;
}

// Of the views alone: columns that are no field of a family by this name, and cannot identify a patient.
const publicViewColumns = new Set([
  ...['form_id', 'family', 'event', 'status', 'error', 'reason', 'field', 'kind', 'value', 'state'],
  ...['actor_id', 'facility_id', 'event_id', 'estimate_id', 'clearance_id', 'open_clearance_types'],
]);

// As format_type writes them. Others, such as jsonb, may contain anything.
const publicTypes = new Set([
  ...['boolean', 'integer', 'bigint', 'numeric', 'date', 'timestamp with time zone', 'interval', 'uuid'],
]);

/** Whether a column may hold personal data: every text does unless it is marked, and every nested value does. */
export const isPersonal = (families: readonly Family[], name: string, type: string) =>
  !publicTypes.has(type) &&
  !(
    type === 'text' &&
    (publicViewColumns.has(name) || publicColumns.has(name) || isPublicField(families, name))
  );

/** What the database says of each view, and of each function that is a report. */
export async function readComments(db: Kysely<Tables>): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ name: string; comment: string }>`
    select relname as name, obj_description(oid, 'pg_class') as comment
    from pg_class where relnamespace = 'reporting'::regnamespace
    union all
    select proname, obj_description(oid, 'pg_proc')
    from pg_proc where pronamespace = 'reporting'::regnamespace`.execute(db);
  return new Map(rows.map(({ name, comment }) => [name, comment]));
}

/** The columns of a report in their order. */
export async function readColumns(
  db: Kysely<Tables>,
  { view, rowsOf = view }: Report,
  families: readonly Family[],
): Promise<ReportColumn[]> {
  const { rows } = await sql<Omit<ReportColumn, 'personal'>>`
    select attname as name, format_type(atttypid, null) as type, col_description(attrelid, attnum) as comment
    from pg_attribute
    where attrelid = ${`reporting.${rowsOf}`}::regclass and attnum > 0 and not attisdropped
    order by attnum`.execute(db);
  return rows.map((column) => ({ ...column, personal: isPersonal(families, column.name, column.type) }));
}

/** The columns that a report can be filtered by, as far as it has them. */
export function filtersOf(columns: readonly ReportColumn[]) {
  const find = (...names: string[]) => names.find((name) => columns.some((column) => column.name === name));
  return {
    day: find('day'),
    business: find('business_id'),
    clinic: find('clinic_id', 'facility_id'),
    doctor: find('doctor_id'),
    // The view of deliveries has receipt_id too, but no index on it.
    receipt: find('receipt_number') && find('receipt_id'),
    age: find('days_outstanding'),
  };
}
