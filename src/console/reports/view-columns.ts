import { type QueryExecutorProvider as Db, sql } from 'kysely';
import type { TypedColumn } from './column-kinds.ts';
import { read } from './read.ts';
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

/** The columns of a report in their order. */
export async function readColumns(db: Db, { view, rowsOf = view }: Pick<Report, 'view' | 'rowsOf'>) {
  const { rows } = await sql<ReportColumn>`
    select attname as name, format_type(atttypid, null) as type, col_description(attrelid, attnum) as comment,
           not reporting.is_public(attname, atttypid) as personal
    from pg_attribute where attrelid = ${`reporting.${rowsOf}`}::regclass and attnum > 0 and not attisdropped
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
    age: find('days_outstanding'),
  };
}
