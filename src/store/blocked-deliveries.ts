import { sql } from 'kysely';
import type { Db } from './tables.ts';

/** Why a delivery is set aside: none of these is the fault of its data. */
export type BlockedCause = 'locked' | 'damaged' | 'state not writable';

export interface Blocked {
  id: string;
  family: string;
  cause: BlockedCause;
  /** What it waits for, and what ends that. */
  detail: string | null;
}

/** The condition that a delivery is not set aside. @param id SQL */
export const isNotBlocked = (id: string) =>
  `not exists (select from blocked_deliveries b where b.id = ${id})`;

/** Sets deliveries aside that a job has tried in vain: they are left out of jobs, and tried again at once. */
export async function block(db: Db, deliveries: readonly Blocked[]): Promise<void> {
  await sql`
    insert into blocked_deliveries (id, family, cause, detail, tried_at)
    select id, family, cause, detail, now()
    from jsonb_to_recordset(${JSON.stringify(deliveries)}::jsonb)
      as given (id uuid, family text, cause text, detail text)
    order by id
    on conflict (id) do nothing`.execute(db);
}

/** The ids without those of deliveries that are set aside. */
export async function withoutBlocked(db: Db, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from blocked_deliveries where id = any(${ids}::uuid[])`.execute(db);
  const blocked = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !blocked.has(id));
}

export interface Due extends Blocked {
  isTried: boolean;
}

/**
 * Those that are to be tried now: those that were not tried yet, which were stored without a state, and the others, most of which
 * will fail again.
 *
 * @param limit of each, the longest in waiting
 */
export async function listDue(db: Db, limit: number): Promise<[untried: Due[], tried: Due[]]> {
  const due = (isTried: boolean) => sql`
    (select id, family, cause, detail, ${isTried}::boolean as "isTried" from blocked_deliveries
     where next_at <= now() and (tried_at is not null) = ${isTried}::boolean order by next_at limit ${limit})`;
  const { rows } = await sql<Due>`${due(false)} union all ${due(true)}`.execute(db);
  return [rows.filter(({ isTried }) => !isTried), rows.filter(({ isTried }) => isTried)];
}

/** Whether any delivery is set aside. */
export async function hasBlocked(db: Db): Promise<boolean> {
  const { rows } = await sql`select from blocked_deliveries limit 1`.execute(db);
  return rows.length > 0;
}

const minPauseS = 5;
const maxPauseS = 30;

/** Records an attempt in vain; the pause grows with the time that it waits already. @param detail null: still unknown */
export async function postpone(db: Db, { id, cause, detail }: Omit<Blocked, 'family'>): Promise<void> {
  await sql`
    update blocked_deliveries set cause = ${cause}, detail = coalesce(${detail}, detail), tried_at = now(), next_at = now()
      + least(greatest(now() - since, ${minPauseS} * interval '1 s'), ${maxPauseS} * interval '1 s')
    where id = ${id}::uuid`.execute(db);
}

/** Deliveries that are applied, or that jobs may apply again. */
export async function unblock(db: Db, ids: readonly string[]): Promise<void> {
  await sql`delete from blocked_deliveries where id = any(${ids}::uuid[])`.execute(db);
}
