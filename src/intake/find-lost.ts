import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Log, throttled } from '../common/log.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import type { Db } from '../store/tables.ts';
import type { Acknowledged, AcknowledgedDelivery } from './acknowledged.ts';

interface Fallback {
  circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>;
  count: () => Promise<number>;
  /** Those that were drained without becoming rows. */
  settled: (ids: readonly string[]) => Promise<Set<string>>;
}

export interface FindLostOptions {
  db: Db;
  /** PostgreSQL's. */
  circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>;
  fallback: Fallback;
  acknowledged: Acknowledged;
  log: Log;
}

const everyMs = 5_000;
/** How often resent deliveries are removed from the table. */
const resentEveryMs = 60_000;
const perStep = 1_000;

/**
 * Creates a function that looks whether what was acknowledged from the fallback store has become rows. Once that store is empty,
 * what is nowhere is lost: it is recorded in `lost_deliveries` and logged.
 *
 * @throws (the function) an error of PostgreSQL or Redis; what is unclear is looked at again
 */
export function createFindLost({ db, fallback, acknowledged, log }: Omit<FindLostOptions, 'circuit'>) {
  return async (): Promise<void> => {
    // Those of later may be written to Redis after it was found empty.
    let left = acknowledged.count;
    if (left === 0) return;
    const isEmpty = (await fallback.count()) === 0;
    const found = { count: 0, from: new Date(), until: new Date(0) };
    try {
      while (left > 0) {
        const some = acknowledged.first(Math.min(perStep, left));
        const missing = await findMissing(db, some);
        // The others wait in Redis, behind these.
        if (missing.length > 0 && !isEmpty) return;
        const settled = missing.length > 0 ? await fallback.settled(missing.map(({ id }) => id)) : new Set();
        const lost = missing.filter(({ id }) => !settled.has(id));
        if (lost.length > 0) {
          await record(db, lost);
          found.count += lost.length;
          for (const { at } of lost) {
            if (at < found.from) found.from = at;
            if (at > found.until) found.until = at;
          }
        }
        acknowledged.removeFirst(some.length);
        left -= some.length;
      }
    } finally {
      if (found.count > 0) {
        const message =
          'callbacks that were acknowledged from Redis are in no store: ask the platform to send them again; table ' +
          'lost_deliveries names them';
        log.error(found, message);
      }
    }
    if (acknowledged.count > 0 || acknowledged.beyond === 0) return;
    const message =
      'more callbacks were acknowledged from Redis than this process remembers: whether these are stored is not known';
    log.warn({ count: acknowledged.beyond }, message);
    acknowledged.forgetBeyond();
  };
}

async function record(db: Db, lost: readonly AcknowledgedDelivery[]): Promise<void> {
  await sql`
    insert into lost_deliveries (id, family, received_at, lost_from)
    select distinct on (id) id, family, received_at, 'redis'
    from unnest(${lost.map(({ id }) => id)}::uuid[], ${lost.map(({ family }) => family)}::text[],
                ${lost.map(({ at }) => at.toISOString())}::timestamptz[]) as lost (id, family, received_at)
    order by id, received_at
    on conflict (id) do nothing`.execute(db);
}

async function findMissing(db: Db, some: readonly AcknowledgedDelivery[]): Promise<AcknowledgedDelivery[]> {
  const { rows } = await sql<{ id: string }>`
    select id from inbox where id = any(${some.map(({ id }) => id)}::uuid[])`.execute(db);
  const stored = new Set(rows.map(({ id }) => id));
  return some.filter(({ id }) => !stored.has(id));
}

/** Removes what was sent again. @throws the database's error */
export async function removeResent(db: Db): Promise<void> {
  await sql`delete from lost_deliveries l where exists (select from inbox i where i.id = l.id)`.execute(db);
}

/** Runs it while both stores are available. */
export function startFindLost(options: FindLostOptions) {
  const { db, circuit, fallback, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const findLost = createFindLost(options);
  const report = throttled((more, err) =>
    log.warn({ err, ...more }, 'whether Redis has lost callbacks could not be read'),
  );
  let resentAt = Number.NEGATIVE_INFINITY;
  const running = (async () => {
    while (!signal.aborted) {
      try {
        if (!circuit.isOpen && !fallback.circuit.isOpen) await findLost();
        if (!circuit.isOpen && performance.now() - resentAt > resentEveryMs) {
          resentAt = performance.now();
          await removeResent(db);
        }
      } catch (error) {
        const unavailable = await Promise.all(
          [circuit, fallback.circuit].map((one) => one.probeAfter(error)),
        );
        if (!unavailable.includes(true)) report(error);
      }
      await sleep(everyMs, undefined, { ref: false, signal }).catch(() => {});
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
