import type pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import type { Config } from '../../common/config/config.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { pause } from '../../common/timeouts.ts';
import { checkFamilies } from '../gate/gate.ts';
import type { Intake } from '../intake/intake.ts';
import type { Fallback } from '../queue/fallback.ts';
import { faultOf, Unavailable } from '../store/errors.ts';

export interface DrainOptions {
  fallback: Pick<Fallback, 'claim' | 'read' | 'remove'>;
  intake: Pick<Intake, 'drain'>;
  config: Config;
  pool: pg.Pool;
  families: readonly Family[];
  log: Log;
}

const maxEntries = 200;
const maxBytes = 8 * 1024 * 1024;

/**
 * Moves deliveries of the fallback store into the database. An entry is removed only after that: after a crash in between, or
 * where two workers drain, its delivery is a duplicate. Entries that cannot be stored now stay, and those behind them are moved;
 * while none can be, the pauses grow.
 *
 * @returns ends it
 */
export function startDrain(options: DrainOptions): () => Promise<void> {
  const stopping = new AbortController();
  const draining = drain(options, stopping.signal);
  return () => {
    stopping.abort();
    return draining;
  };
}

async function drain(options: DrainOptions, signal: AbortSignal): Promise<void> {
  const { fallback, intake, config, pool, families, log } = options;
  const { drainEveryMs, maxDrainPauseMs } = config.times;
  // What is read at once fits into memory.
  const count = Math.min(maxEntries, Math.max(1, Math.floor(maxBytes / config.bodyLimitBytes)));
  const message = 'deliveries of the fallback store could not be drained; they are tried again';
  const report = errorLogger(log, 'warn', message);
  /** The database, once it was reached: in an outage its entries stay claimed. */
  let identity: string | undefined;
  let after: string | undefined;
  let pauseMs = drainEveryMs;
  let total = 0;

  /** Otherwise the entries wait, for the database or for a process with other families. */
  const mayDrain = async () => {
    identity ??= await readIdentity(pool);
    const isOwner = await fallback.claim(identity);
    await checkFamilies(pool, families);
    return isOwner;
  };
  /** @returns the numbers of entries that were read and moved */
  const drainSome = async () => {
    const mayRead = await mayDrain().catch((error) => {
      if (faultOf(error) !== 'outage') report(error);
      return false;
    });
    const entries = mayRead ? await fallback.read(count, after) : [];
    // Together, so that they share commits.
    const results = await Promise.allSettled(entries.map((entry) => intake.drain(entry)));
    for (const result of results) {
      // The circuit of PostgreSQL reports outages.
      if (result.status === 'rejected' && !(result.reason instanceof Unavailable)) report(result.reason);
    }
    const moved = entries.filter((_, index) => results[index]!.status === 'fulfilled');
    await fallback.remove(moved);
    after = entries.length < count ? undefined : entries.at(-1)!.entryId;
    return { read: entries.length, moved: moved.length };
  };

  while (!signal.aborted) {
    const { read, moved } = await drainSome().catch((error) => {
      report(error);
      return { read: 1, moved: 0 };
    });
    total += moved;
    if (moved > 0 || read === 0) pauseMs = drainEveryMs;
    if (moved > 0 && after) continue;
    if (total > 0 && !after) {
      log.info({ count: total }, 'deliveries of the fallback store were moved into the database');
      total = 0;
    }
    await pause(pauseMs, signal);
    if (read > 0) pauseMs = Math.min(pauseMs * 2, maxDrainPauseMs);
  }
}

/** A copy on another server, or beside its original, is another database. */
export async function readIdentity(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ identity: string }>(
    `select concat_ws(' ', value, receiver.system_identifier(), oid) as identity
     from receiver.settings, pg_database where name = 'identity' and datname = current_database()`,
  );
  return rows[0]!.identity;
}
