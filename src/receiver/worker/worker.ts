import type pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import type { Times } from '../../common/config/limits.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { pause } from '../../common/timeouts.ts';
import { applied, failed as refused } from '../metrics.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import { isDamaged } from '../store/errors.ts';
import { isTooFarAhead } from '../store/statements/pending.ts';
import type { Merge } from './merge.ts';

export interface WorkerOptions {
  merge: Merge;
  pool: pg.Pool;
  families: readonly Family[];
  /** Without it the worker looks for due deliveries. */
  queue?: { startJobs: DeliveryQueue['startJobs'] } | undefined;
  times: Times;
  log: Log;
}

export interface Worker {
  /** Deliveries of these families were stored. */
  wake: (families: readonly string[]) => void;
  /** Takes no more, and resolves once the merge in flight has ended. */
  stop: () => Promise<void>;
}

interface Turn {
  isDue: boolean;
  /** Deliveries of jobs. */
  ids: string[];
  /** By `performance.now()`. */
  pausedUntil: number;
  pauseMs: number;
}

const minPauseMs = 250;
const maxPauseMs = 5_000;
// More are merged with the others that are due.
const maxIds = 500;
const lookMs = 5_000;

/**
 * The loop that merges due deliveries, one family at a time, in turns. Jobs, `wake` and the sweep only say which families are
 * due, so a queue that is gone, full or wrong costs seconds, not callbacks.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { pool, families, queue, times, log } = options;
  const names = families.map(({ name }) => name);
  const turns = new Map<string, Turn>(
    names.map((name) => [name, { isDue: false, ids: [], pausedUntil: 0, pauseMs: 0 }]),
  );
  const stopping = new AbortController();
  const { signal } = stopping;
  let notify = () => {};

  const wake = (dueNames: readonly string[], ids: readonly string[] = []) => {
    for (const name of dueNames) {
      const turn = turns.get(name);
      // Another version of the receiver knows the other families.
      if (!turn) continue;
      turn.isDue = true;
      turn.ids.push(...ids.slice(0, maxIds - turn.ids.length));
    }
    notify();
  };

  const work = async () => {
    while (!signal.aborted) {
      const due = [...turns].filter(([, turn]) => turn.isDue && turn.pausedUntil <= performance.now());
      for (const [name, turn] of due) if (!signal.aborted) await takeTurn(options, name, turn);
      if (due.length > 0) continue;
      await new Promise<void>((resolve) => {
        // A pause may end.
        const timer = setTimeout(resolve, minPauseMs);
        notify = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  const logFailure = errorLogger(log, 'warn', 'deliveries that are due could not be looked up');
  const sweep = async () => {
    while (!signal.aborted) {
      const due = await findDue(pool, names, queue ? times.sweepAgeMs : 0).catch((error) => {
        logFailure(error);
        // What can be read is merged.
        return isDamaged(error) ? names : [];
      });
      wake(due);
      await pause(queue ? times.sweepEveryMs : times.pollMs, signal);
    }
  };

  const stopJobs = queue?.startJobs(wake);
  const running = [work(), sweep()];
  return {
    wake: (dueNames) => wake(dueNames),
    stop: async () => {
      await stopJobs?.();
      stopping.abort();
      notify();
      await Promise.all(running);
    },
  };
}

async function takeTurn({ merge, log }: WorkerOptions, name: string, turn: Turn): Promise<void> {
  turn.isDue = false;
  try {
    const { outcome, reason, isFull, merged, failed } = await merge(name, { ids: turn.ids.splice(0) });
    applied.inc(merged);
    refused.inc(failed);
    // After a pause the sweep takes it up.
    turn.isDue ||= isFull || outcome === 'busy';
    if (outcome === 'done' || outcome === 'busy') {
      turn.pauseMs = 0;
      return;
    }
    pauseTurn(turn);
    log.warn({ family: name, outcome, reason, pauseMs: turn.pauseMs }, 'a family cannot be merged for now');
  } catch (err) {
    turn.isDue = true;
    pauseTurn(turn);
    log.warn({ err, family: name, pauseMs: turn.pauseMs }, 'a merge failed and is repeated');
  }
}

function pauseTurn(turn: Turn): void {
  turn.pauseMs = Math.min(Math.max(turn.pauseMs * 2, minPauseMs), maxPauseMs);
  turn.pausedUntil = performance.now() + turn.pauseMs;
}

/** The families with deliveries that have been due for some time. @throws the database's error */
async function findDue(pool: pg.Pool, names: readonly string[], waitedMs: number): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>({
    text: `select name from unnest($1::text[]) name where exists (
      select from receiver.pending_deliveries where family = name and next_at <= now() - $2 * interval '1 ms'
      union all select from receiver.pending_deliveries where family = name and ${isTooFarAhead})`,
    values: [names, waitedMs],
    query_timeout: lookMs,
  });
  return rows.map(({ name }) => name);
}
