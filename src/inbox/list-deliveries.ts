import { setTimeout as sleep } from 'node:timers/promises';
import { type Selectable, sql } from 'kysely';
import { reducedMark } from '../callbacks/reduce.ts';
import { uuid } from '../common/words.ts';
import type { Core } from '../receiver/feature.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import type { Db, Tables } from '../receiver/store/tables.ts';
import { patientsOf } from './read-record.ts';

/** SQL for a hash of what failed deliveries have in common. An error has no values of its callback. */
export const causeOfFailure = sql<string>`md5(jsonb_build_array(i.family, error)::text)`;

export interface StoredDelivery extends Omit<Selectable<Tables['public.deliveries']>, 'envelope'> {
  /** As PostgreSQL writes it. */
  body: string;
  /** It lost what is personal to an erasure. */
  isReduced: boolean;
  record_id: string;
  subjects: string[];
}

export async function readDelivery({ db, pool }: Core, id: string): Promise<StoredDelivery | undefined> {
  if (!uuid.test(id)) return undefined;
  const row = await db
    .selectFrom('public.deliveries as d')
    .selectAll('d')
    .innerJoin('receiver.inbox as i', 'i.id', 'd.id')
    .select(['i.record_id', sql<string>`i.envelope::text`.as('body')])
    .select(sql<boolean>`${reducedMark} = any(i.subjects)`.as('isReduced'))
    .where('d.id', '=', id)
    .executeTakeFirst();
  if (!row) return undefined;
  const { family, business_id: businessId, record_id: recordId } = row;
  const subjects = await inTransaction(pool, 'set transaction read only', (client) =>
    patientsOf(client, [{ family, businessId, recordId }]),
  );
  return { ...row, subjects };
}

/** Has those with these ids merged again, whatever their status, or else the failed ones. @returns the ids of those that wait now */
export async function replayDeliveries(
  db: Db,
  {
    family,
    cause,
    ids,
  }: { family?: string | undefined; cause?: string | undefined; ids?: readonly string[] | undefined },
): Promise<string[]> {
  const chosen = db
    .selectFrom('receiver.inbox as i')
    .leftJoin('receiver.pending_deliveries as p', 'p.id', 'i.id')
    .select(['i.id', 'i.family'])
    .where(ids ? sql<boolean>`i.id = any(${[...ids]}::uuid[])` : sql<boolean>`p.next_at = 'infinity'`)
    .$if(family !== undefined, (query) => query.where('i.family', '=', family!))
    .$if(cause !== undefined, (query) => query.where(causeOfFailure, '=', cause!))
    // As an insert takes its pending rows.
    .orderBy('i.id');
  const rows = await db
    .insertInto('receiver.pending_deliveries')
    .columns(['id', 'family'])
    .expression(chosen)
    .onConflict((existing) =>
      existing.column('id').doUpdateSet({ next_at: sql<Date>`clock_timestamp()`, attempts: 0, error: null }),
    )
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Waits some seconds for a worker. @returns the status of each */
export async function readStatuses(db: Db, ids: readonly string[]): Promise<string[]> {
  for (let pauseMs = 100; ; pauseMs *= 2) {
    const rows = await db.selectFrom('public.deliveries').select('status').where(isOneOf(ids)).execute();
    const statuses = rows.map(({ status }) => status);
    if (pauseMs > 2_000 || !statuses.includes('received')) return statuses;
    await sleep(pauseMs);
  }
}

/** As one parameter: a statement takes at most 65,535. */
export const isOneOf = (ids: readonly string[]) => sql<boolean>`id = any(${[...ids]}::uuid[])`;
