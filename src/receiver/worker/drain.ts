import { errorLogger, type Log } from '../../common/log.ts';
import { pause } from '../../common/timeouts.ts';
import type { Intake } from '../intake/intake.ts';
import type { Fallback } from '../queue/fallback.ts';
import { Unavailable } from '../store/errors.ts';

export interface DrainOptions {
  fallback: Pick<Fallback, 'read' | 'remove'>;
  intake: Pick<Intake, 'drain'>;
  /** Whether the tables are for the families of this process: otherwise the entries wait for another one. */
  isCurrent: () => Promise<boolean>;
  log: Log;
  signal: AbortSignal;
  /** The size of the largest body: what is read at once fits into memory. */
  bodyLimitBytes: number;
  everyMs?: number;
  maxPauseMs?: number;
}

const maxEntries = 200;
const maxBytes = 8 * 1024 * 1024;

/**
 * Moves deliveries of the fallback store into the database, until the signal. An entry is removed only after that: after
 * a crash in between, or where two workers drain, its delivery is a duplicate. Entries that cannot be stored now stay, and
 * those behind them are moved; while none can be, the pauses grow.
 */
export async function drainFallback(options: DrainOptions): Promise<void> {
  const { fallback, intake, isCurrent, log, signal, everyMs = 500, maxPauseMs = 5_000 } = options;
  const count = Math.min(maxEntries, Math.max(1, Math.floor(maxBytes / options.bodyLimitBytes)));
  const report = errorLogger(
    log,
    'warn',
    'deliveries of the fallback store could not be drained; they are tried again',
  );
  let after: string | undefined;
  let pauseMs = everyMs;
  let total = 0;

  /** @returns the numbers of entries that were read and moved */
  const drainSome = async () => {
    const entries = (await isCurrent()) ? await fallback.read(count, after) : [];
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
    if (moved > 0 || read === 0) pauseMs = everyMs;
    if (moved > 0 && after) continue;
    if (total > 0 && !after) {
      log.info({ count: total }, 'deliveries of the fallback store were moved into the database');
      total = 0;
    }
    await pause(pauseMs, signal);
    if (read > 0) pauseMs = Math.min(pauseMs * 2, maxPauseMs);
  }
}
