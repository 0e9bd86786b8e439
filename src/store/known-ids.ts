import { sql } from 'kysely';
import { type AliasKind, type KnownId, mostIds } from '../common/aliases.ts';
import { allOf, businesses, read } from './read.ts';
import type { Db } from './tables.ts';

/** Which ids to show; absent fields do not filter. */
type IdFilter = { kind?: AliasKind | undefined; text?: string | undefined };

const mostSenders = 5_000;

const patternOf = (text: string) => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;

/**
 * The newest rows of a table, of each business equally many, and of so many businesses: the time grows neither with the table
 * nor with the businesses.
 */
const newest = (table: 'receipts' | 'appointments', doctor: 'doctor_oid' | 'doctor_id') => sql`
  select clinic_id, doctor from (select business from senders limit ${mostSenders}) s cross join lateral (
    select clinic_id, ${sql.ref(doctor)} as doctor from ${sql.table(table)} t where t.business_id = business
    order by reporting.day(coalesce(created_at, first_event_time, event_time)) desc
    limit (select greatest(1, 10000 / greatest(1, count(*))) from senders)
  ) newest`;

/** The ids of businesses, and of clinics and doctors in recent data, and all that have an alias: one more than `mostIds` at most. */
export function readKnownIds(db: Db, { kind, text }: IdFilter): Promise<KnownId[]> {
  const pattern = text && patternOf(text);
  const known = sql<KnownId>`
    with senders as materialized (select unnest(array${businesses}) as business), recent as materialized (
      ${newest('receipts', 'doctor_oid')} union all ${newest('appointments', 'doctor_id')}
    ), known as (
      select 'business' as kind, business as id from senders
      union select 'clinic', clinic_id from recent
      union select 'doctor', doctor from recent
    )
    select kind, id, alias, updated_at, updated_by
    from known full join aliases using (kind, id)
    where ${allOf([
      sql`id <> ''`,
      kind && sql`kind = ${kind}`,
      pattern && sql`(id ilike ${pattern} or alias ilike ${pattern})`,
    ])}
    order by kind, id
    limit ${mostIds + 1}`;
  return read(db, known);
}
