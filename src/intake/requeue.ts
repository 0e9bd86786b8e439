import { sql } from 'kysely';
import { type Family, readKey } from '../families/index.ts';
import { quoted } from '../families/sql.ts';
import { refusedAmong } from '../store/erasure-gate.ts';
import { failure } from '../store/failure.ts';
import type { Db } from '../store/tables.ts';
import { runText, withPlanForAnySize } from '../store/transactions.ts';

/** What became of deliveries without a state. */
export interface Requeued {
  /** They are pending. */
  pending: { id: string; family: string }[];
  /** They are about something that was erased, and stay as they are: see eraseRefused. */
  refused: string[];
}

const tables = ['pending_deliveries', 'applied_deliveries', 'failed_deliveries'];

const numberOfStates = tables
  .map((table) => `(select count(*) from ${table} s where s.id = i.id)`)
  .join(' + ');

const isErasing = 'exists (select from erasing e where e.id = i.id)';

/**
 * Gives deliveries a state that have none: they become pending, unless they are about something that was erased. One that has
 * several states, which none of our statements makes, becomes pending, too: to apply it again changes nothing.
 *
 * Other deliveries, those that a running erasure lists and those that another session has locked are skipped.
 *
 * @throws the database's error; then nothing has changed
 */
export async function requeue(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
): Promise<Requeued> {
  const requeued: Requeued = { pending: [], refused: [] };
  if (ids.length === 0) return requeued;
  await withPlanForAnySize(db, async (tx) => {
    // Who makes them pending meanwhile has locked them. Nobody waits: the insert of a callback may be the caller.
    const { rows: locked } = await sql<{ id: string }>`
      select id from inbox i where id = any(${ids}::uuid[]) and not ${sql.raw(isErasing)}
      order by id for update skip locked`.execute(tx);
    const free = locked.map(({ id }) => id);
    // Statements of their own, which see what was committed before the lock was given.
    await forgetSeveral(tx, free);
    const rows = await runText<{ id: string; family: string; outcome: keyof Requeued }>(
      tx,
      requeueStatement(families),
      [free],
    );
    for (const { id, family, outcome } of rows) {
      if (outcome === 'pending') requeued.pending.push({ id, family });
      else requeued.refused.push(id);
    }
  });
  return requeued;
}

/** Takes the states of deliveries that have several. The pending ones first, as workers do, which prevents deadlocks. */
async function forgetSeveral(tx: Db, ids: readonly string[]): Promise<void> {
  const text = `select id from inbox i where id = any($1::uuid[]) and ${numberOfStates} > 1`;
  const several = (await runText<{ id: string }>(tx, text, [ids])).map(({ id }) => id);
  if (several.length === 0) return;
  for (const table of tables) await runText(tx, `delete from ${table} where id = any($1::uuid[])`, [several]);
}

/**
 * The statement that gives deliveries ($1, ids) a state that have none. What names no valid key is about nothing that could
 * have been erased or applied, but for its patient.
 */
function requeueStatement(families: readonly Family[]): string {
  return `
with wanted as materialized (
  select i.id, i.family as own_family, i.business_id, i.event_time, i.received_at, i.envelope as stored,
         case when keyed.is_valid then i.family else 'none' end as family, keyed.is_valid,
         i.envelope || jsonb_build_object('business_id', i.business_id, 'event_time', extract(epoch from i.event_time)) as envelope,
         to_jsonb(patients_of(i.envelope, i.patients)) as patients
  from inbox i
  cross join lateral (
    select has_valid_key(i.family, i.envelope) as is_valid offset 0
  ) keyed
  where i.id = any($1::uuid[]) and ${numberOfStates} = 0 and not ${isErasing}
), ${refusedAmong('wanted')}, known as materialized (
  ${[`select null::uuid as id, null::timestamptz as applied_at where false`, ...families.flatMap(appliedAtOf)].join(' union all ')}
), chosen as materialized (
  select id, own_family as family, received_at,
         (select min(applied_at) from known where known.id = wanted.id) as applied_at
  from wanted where id not in (select id from refused)
), pending as (
  insert into pending_deliveries (id, family, received_at, applied_at)
  select id, family, received_at, applied_at from chosen order by id
  returning id, family
)
select id, family, 'pending' as outcome from pending
union all
select id, own_family, 'refused' from wanted where id in (select id from refused)
union all
-- A trigger has dropped rows.
select null, null, ${failure}
where (select count(*) from chosen) <> (select count(*) from pending)`;
}

/** When deliveries were applied of which there are rows: to apply them again must not change that. */
function appliedAtOf({ name, table, versions, identifiedBy, ...family }: Family): string[] {
  if (!versions || !identifiedBy) return [];
  const key = readKey({ name, table, versions, identifiedBy, ...family }, 'w')!;
  return [table, versions].map(
    (rows) => `
  select w.id, made.applied_at
  from (select id, family, business_id, stored as envelope from wanted where is_valid and family = '${name}' offset 0) w
  join ${quoted(rows)} made on made.business_id = w.business_id and made.${quoted(identifiedBy)} = ${key}
    and made.delivery_id = w.id`,
  );
}
