import { type QueryExecutorProvider as Db, sql } from 'kysely';
import { read } from '../store/read.ts';
import type { TypedColumn } from './column-kinds.ts';
import type { Report } from './report.ts';

export type ReportColumn = TypedColumn & { comment: string | null; personal: boolean };

/** What the database says of each view, and of each function that is a report. */
export async function readComments(db: Db): Promise<ReadonlyMap<string, string>> {
  const comments = sql<{ name: string; comment: string }>`
    select relname as name, obj_description(oid, 'pg_class') as comment
    from pg_class where relnamespace = 'reporting'::regnamespace
    union all
    select proname, obj_description(oid, 'pg_proc')
    from pg_proc where pronamespace = 'reporting'::regnamespace`;
  return new Map((await read(db, comments)).map(({ name, comment }) => [name, comment]));
}

/** The columns of a report in their order. What is public is listed in db/reporting/6_masked.sql; anything else is personal. */
export async function readColumns(db: Db, { view, rowsOf = view }: Pick<Report, 'view' | 'rowsOf'>) {
  const { rows } = await sql<ReportColumn>`
    select attname as name, format_type(atttypid, null) as type, col_description(attrelid, attnum) as comment,
           not coalesce(for_console, false) as personal
    from pg_attribute
    left join reporting.public_columns() as listed on listed.view = ${rowsOf} and column_name = attname
    where attrelid = ${`reporting.${rowsOf}`}::regclass and attnum > 0 and not attisdropped
    order by attnum`.execute(db);
  return rows;
}

/** What a report can be filtered by: the fields of its form, with their columns as far as it has them. */
export function filtersOf({ rowsOf }: Report, columns: readonly ReportColumn[]) {
  const find = (...names: string[]) => names.find((name) => columns.some((column) => column.name === name));
  return {
    from: find('day'),
    to: find('day'),
    at: rowsOf,
    business: find('business_id'),
    clinic: find('clinic_id', 'facility_id'),
    doctor: find('doctor_id'),
    // The view of deliveries has receipt_id too, but no index on it.
    receipt: find('receipt_number') && find('receipt_id'),
    patient: find('patient_id'),
    age: find('days_outstanding'),
  };
}
