import { sql } from 'kysely';
import type { Family } from '../families/index.ts';
import {
  beginning,
  type Compared,
  compareStates,
  forgetFound,
  lateBeginning,
  listAsLost,
  type Place,
  recentBeginning,
} from '../intake/compare-states.ts';
import { requeue } from '../intake/requeue.ts';
import { isDamaged } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';
import type { ErasureOptions } from './erasure/erase.ts';
import { eraseRefused } from './erasure/erase-refused.ts';

/** A check of the table `state_checks`, and where it begins. */
const beginnings = { recent: () => recentBeginning(), late: () => lateBeginning, all: () => beginning };
type Check = keyof typeof beginnings;

export interface CheckedStates {
  check: Check | 'command';
  /** Deliveries without a state that were given one. */
  requeued: string[];
  /** Deliveries without a state that were about something erased. */
  erased: number;
  /** States without a delivery that were not known before. */
  lost: string[];
  damaged?: Compared['damaged'];
}

type Settings = Pick<ErasureOptions, 'actor' | 'keepMs'>;

const perStep = 5_000;
/** Soon after a damaged page, which may be repaired: what it held may have lost its state. */
const dueAfterDamage = '30 seconds';
const dueAfter: Record<Check, string> = { recent: '5 minutes', late: '5 minutes', all: '1 day' };

/** A check that is due, and where its next step begins. */
export interface DueCheck {
  name: Check;
  /** Undefined: a pass begins. */
  place: Place | undefined;
}

/**
 * Looks which check is due; changes nothing.
 *
 * @param last the check of the step before: another that is due comes first
 */
export async function findDueCheck(db: Db, last?: string): Promise<DueCheck | undefined> {
  const due = sql.join(
    Object.entries(dueAfter).map(
      ([name, interval]) => sql`(name = ${name} and completed_at < now() - ${interval}::interval)`,
    ),
    sql` or `,
  );
  const { rows } = await sql<{ name: Check; id: string | null; receivedAt: string | null }>`
    select name, after_id as id,
           to_char(after_received_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US"Z"') as "receivedAt"
    from unnest(${Object.keys(beginnings)}::text[]) as name left join state_checks using (name)
    where after_id is not null or completed_at is null or completed_at > now() or ${due}
      or (name <> 'all' and saw_damage and completed_at < now() - ${dueAfterDamage}::interval)
    order by name = ${last ?? ''}, name = 'all' limit 1`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { name, id, receivedAt } = row;
  return { name, place: id ? { id, receivedAt: receivedAt ?? undefined } : undefined };
}

/**
 * Compares the next part of inbox with the tables of states: rows without a state get one, states without a row are listed
 * as lost. A check continues where it was, whichever process does it.
 *
 * @throws the database's error; the next call repeats the step
 */
export async function runCheck(
  db: Db,
  families: readonly Family[],
  settings: Settings,
  { name, place }: DueCheck,
): Promise<CheckedStates> {
  if (!place) await forgetFound(db);
  const from = place ?? beginnings[name]();
  const { next, ...checked } = await checkFrom(db, families, name, from, settings);
  await sql`
    insert into state_checks as c (name, after_id, after_received_at, completed_at, saw_damage)
    values (${name}, ${next?.id ?? null}::uuid, ${next?.receivedAt ?? null}::timestamptz,
            case when ${next === undefined} then now() end, ${checked.damaged !== undefined})
    on conflict (name) do update set after_id = excluded.after_id, after_received_at = excluded.after_received_at,
      completed_at = coalesce(excluded.completed_at, c.completed_at),
      saw_damage = excluded.saw_damage or (c.saw_damage and ${place !== undefined})`.execute(db);
  return checked;
}

/** Compares all of inbox with the tables of states at once. @param onStep called with what each step has found */
export async function checkAllStates(
  db: Db,
  families: readonly Family[],
  settings: Settings,
  onStep: (checked: CheckedStates) => void,
): Promise<void> {
  await forgetFound(db);
  for (let place: Place | undefined = beginning; place; ) {
    const { next, ...checked }: CheckedStates & Pick<Compared, 'next'> = await checkFrom(
      db,
      families,
      'command',
      place,
      settings,
    );
    onStep(checked);
    place = next;
  }
}

/** Counts the deliveries without a state, or with several; changes nothing. */
export async function countUnsettled(db: Db): Promise<number> {
  let count = 0;
  for (let place: Place | undefined = beginning; place; ) {
    const { next, unsettled }: Compared = await compareStates(db, place, perStep);
    count += unsettled.length;
    place = next;
  }
  return count;
}

async function checkFrom(
  db: Db,
  families: readonly Family[],
  check: CheckedStates['check'],
  place: Place,
  settings: Settings,
): Promise<CheckedStates & Pick<Compared, 'next'>> {
  const compared = await compareStates(db, place, perStep);
  const found = { requeued: [] as string[], erased: 0 };
  let { damaged } = compared;
  const restore = async (ids: readonly string[]): Promise<void> => {
    try {
      const { pending, refused } = await requeue(db, families, ids);
      found.requeued.push(...pending.map(({ id }) => id));
      found.erased += await eraseRefused(db, families, refused, settings);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      const [id] = ids;
      if (ids.length === 1) damaged ??= { place: { id: id! }, code: (error as { code: string }).code };
      const middle = ids.length >> 1;
      if (middle > 0) for (const half of [ids.slice(0, middle), ids.slice(middle)]) await restore(half);
    }
  };
  await restore(compared.unsettled);
  await record(db, check, found.requeued.length);
  const lost = await listAsLost(db, compared.lost);
  return { check, ...found, lost, next: compared.next, ...(damaged && { damaged }) };
}

/** Adds to what a check has found in the last day. */
async function record(db: Db, check: CheckedStates['check'], requeued: number): Promise<void> {
  if (requeued === 0) return;
  const isOver = sql`coalesce(c.requeued_at < now() - interval '1 day', true)`;
  await sql`
    insert into state_checks as c (name, requeued, requeued_since, requeued_at) values (${check}, ${requeued}, now(), now())
    on conflict (name) do update set requeued_at = now(),
      requeued = excluded.requeued + case when ${isOver} then 0 else c.requeued end,
      requeued_since = case when ${isOver} then now() else c.requeued_since end`.execute(db);
}
