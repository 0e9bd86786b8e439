import { sql } from 'kysely';
import type { Family } from '../families/index.ts';
import { keyOf, quoted } from '../families/sql.ts';
import type { Db } from '../store/tables.ts';
import { runText } from '../store/transactions.ts';
import { reportOf } from './reports.ts';

/** A record as it is now. */
export interface CurrentRecord {
  business_id: string;
  id: string;
  event: string;
  is_deleted: boolean;
  changed_at: Date | null;
  /** JSON; null where its view leaves out what is deleted. */
  record: string | null;
  patient_id: string | null;
}

export interface RecordKey {
  business_id: string;
  id: string;
}

export type RecordReader = ReturnType<typeof createRecordReader>;

/** The SQL type of the column that identifies a family's records. */
const typeOf = ({ identifiedBy, fields }: Family) =>
  identifiedBy === undefined ? 'uuid' : fields[identifiedBy]!.json === 'numeric' ? 'bigint' : 'text';

/** Reads records with the columns of their views. @param columns see `readColumns` */
export function createRecordReader(columns: readonly ViewColumn[]) {
  const selectFrom = (family: Family, source: string, isPublic: boolean) => {
    const { view, id } = reportOf(family);
    const own = columns.filter((column) => column.view === view);
    const shown = own
      .filter(({ is_public }) => is_public || !isPublic)
      .map(({ name }) => `r.${quoted(name)}`);
    const patient = own.some(({ name }) => name === 'patient_id') ? 'r.patient_id::text' : 'null::text';
    const key = `t.${quoted(keyOf(family).at(-1)!)}`;
    return `
      select t.business_id, ${key}::text as id, t.last_event as event, t.deleted_at is not null as is_deleted,
             a.applied_at as changed_at, report.record, report.patient_id
      from ${source}
      left join applied_deliveries a on a.id = t.delivery_id
      left join lateral (
        select (select row_to_json(shown) from (select ${shown.join(', ')}) as shown)::text as record,
               ${patient} as patient_id
        from reporting.${quoted(view)} r
        where r.business_id = t.business_id and r.${quoted(id)} = ${key} limit 1
      ) report on true`;
  };
  return {
    /** The records that are there, in no order. */
    readByKeys: (tx: Db, family: Family, keys: readonly RecordKey[], isPublic: boolean) => {
      const source = `unnest($1::text[], $2::text[]) as k (business_id, id) join ${quoted(family.table)} t
        on t.business_id = k.business_id and t.${quoted(keyOf(family).at(-1)!)} = k.id::${typeOf(family)}`;
      const values = [keys.map(({ business_id }) => business_id), keys.map(({ id }) => id)];
      return runText<CurrentRecord>(tx, selectFrom(family, source, isPublic), values);
    },

    /**
     * The next records in the order of their keys.
     *
     * @param after undefined: from the first on
     * @param limit of the rows that are looked at; those of another business are not returned
     */
    readAfter: (
      tx: Db,
      family: Family,
      after: RecordKey | undefined,
      { limit, businessId, isPublic }: { limit: number; businessId: string | undefined; isPublic: boolean },
    ) => {
      const key = keyOf(family);
      const hasBusiness = key.length > 1;
      const type = typeOf(family);
      const values: string[] = [];
      const parameter = (value: string) => `$${values.push(value)}`;
      const columnsOfKey = `t.${key.map(quoted).join(', t.')}`;
      const conditions: string[] = [];
      if (after) {
        const start = [
          ...(hasBusiness ? [`${parameter(after.business_id)}::text`] : []),
          `${parameter(after.id)}::${type}`,
        ];
        conditions.push(`(${columnsOfKey}) > (${start.join(', ')})`);
      }
      if (hasBusiness && businessId !== undefined)
        conditions.push(`t.business_id = ${parameter(businessId)}::text`);
      const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
      const columnsOfRow = [...new Set(['business_id', ...key, 'last_event', 'deleted_at', 'delivery_id'])];
      const source = `(
        select t.${columnsOfRow.map(quoted).join(', t.')}
        from ${quoted(family.table)} t ${where} order by ${columnsOfKey} limit ${limit}
      ) t`;
      const text = `${selectFrom(family, source, isPublic)} order by ${columnsOfKey}`;
      return runText<CurrentRecord>(tx, text, values);
    },
  };
}

export interface ViewColumn {
  view: string;
  name: string;
  is_public: boolean;
}

/** The columns of the families' views. Public ones cannot identify a patient, nor a person who may be one. */
export async function readColumns(db: Db, families: readonly Family[]): Promise<ViewColumn[]> {
  const views = families.map((family) => reportOf(family).view);
  const { rows } = await sql<ViewColumn>`
    select c.relname as view, a.attname as name, exists (
      select from reporting.public_columns() p
      where p.view = c.relname and p.column_name = a.attname and p.for_console and p.for_masked) as is_public
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'reporting'::regnamespace and c.relname = any(${views}::text[])
      and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`.execute(db);
  return rows;
}
