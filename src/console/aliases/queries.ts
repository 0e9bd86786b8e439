import { type Kysely, sql } from 'kysely';
import type { AliasKind } from '../../store/aliases.ts';
import type { Tables } from '../../store/tables.ts';
import { allOf, businesses, read } from '../store.ts';
import type { IdFilter } from './form.ts';

export interface KnownId {
  kind: AliasKind;
  id: string;
  alias: string | null;
  updated_at: Date | null;
  updated_by: string | null;
}

export const mostIds = 500;

/** The newest rows of a table, of each business equally many: so that the time does not grow with the table. */
const newest = (table: 'receipts' | 'appointments', doctor: 'doctor_oid' | 'doctor_id') => sql`
  select clinic_id, doctor from senders cross join lateral (
    select clinic_id, ${sql.ref(doctor)} as doctor from ${sql.table(table)} t where t.business_id = business
    order by reporting.day(coalesce(created_at, event_time)) desc
    limit (select 10000 / greatest(1, count(*)) from senders)
  ) newest`;

/** The ids of businesses, and of clinics and doctors in recent data, and all that have an alias. */
export function readKnownIds(db: Kysely<Tables>, { kind, text }: IdFilter): Promise<KnownId[]> {
  const pattern = text && `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
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
