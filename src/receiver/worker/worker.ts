import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import { type Log, throttled } from '../../common/log.ts';
import { applied, failed as refused } from '../metrics.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import { isDamaged } from '../store/errors.ts';
import { isTooFarAhead } from '../store/statements/pending.ts';
import type { Merge } from './merge.ts';

export interface WorkerOptions {
  merge: Merge;
  pool: pg.Pool;
  families: readonly Family[];
  /** Without it the worker looks for what is due by itself. */
  queue?: Pick<DeliveryQueue, 'startJobs'> | undefined;
  /** In milliseconds. */
  sweep?: {
    /** With a queue: how often it looks for what has waited. */
    everyMs?: number;
    /** With a queue: how long it has waited then. */
    olderThanMs?: number;
    /** Without a queue: how often it looks for what is due. */
    pollMs?: number;
  };
  log: Log;
}

export interface Worker {
  /** Says that deliveries of these families are stored. */
  wake: (families: readonly string[]) => void;
  /** Takes no more, and resolves once the merge in flight has ended. */
  stop: () => Promise<void>;
}

/** What a family has to do. */
interface Turn {
  isDue: boolean;
  /** Deliveries that jobs have named. */
  ids: string[];
  /** By `performance.now()`. */
  pausedUntil: number;
  pauseMs: number;
}

const minPauseMs = 250;
const maxPauseMs = 5_000;
/** What jobs name beyond these is merged with what else is due. */
const maxIds = 500;
const lookMs = 5_000;

/**
 * The loop that merges what is due, one family at a time, in turns. Jobs, `wake` and looks only say which families are due, so
 * a queue that is gone, full or wrong costs seconds, not callbacks.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { merge, pool, families, queue, log } = options;
  const { everyMs = 2_000, olderThanMs = 5_000, pollMs = 250 } = options.sweep ?? {};
  const turns = new Map<string, Turn>(
    families.map(({ name }) => [name, { isDue: false, ids: [], pausedUntil: 0, pauseMs: 0 }]),
  );
  const stopping = new AbortController();
  const { signal } = stopping;
  let ring = () => {};

  const wake = (names: readonly string[], ids: readonly string[] = []) => {
    for (const name of names) {
      const turn = turns.get(name);
      // Another version of the receiver knows the other families.
      if (!turn) continue;
      turn.isDue = true;
      turn.ids.push(...ids.slice(0, maxIds - turn.ids.length));
    }
    ring();
  };

  const pause = (turn: Turn) => {
    turn.pauseMs = Math.min(Math.max(turn.pauseMs * 2, minPauseMs), maxPauseMs);
    turn.pausedUntil = performance.now() + turn.pauseMs;
  };

  const takeTurn = async (name: string, turn: Turn) => {
    turn.isDue = false;
    try {
      const { outcome, reason, isFull, merged, failed } = await merge(name, { ids: turn.ids.splice(0) });
      applied.inc(merged);
      refused.inc(failed);
      // What pauses is taken up by a look.
      turn.isDue ||= isFull || outcome === 'busy';
      if (outcome === 'done' || outcome === 'busy') {
        turn.pauseMs = 0;
        return;
      }
      pause(turn);
      log.warn({ family: name, outcome, reason, pauseMs: turn.pauseMs }, 'a family cannot be merged for now');
    } catch (err) {
      turn.isDue = true;
      pause(turn);
      log.warn({ err, family: name, pauseMs: turn.pauseMs }, 'a merge failed and is repeated');
    }
  };

  const loop = async () => {
    while (!signal.aborted) {
      let isAtRest = true;
      for (const [name, turn] of turns) {
        if (signal.aborted || !turn.isDue || turn.pausedUntil > performance.now()) continue;
        isAtRest = false;
        await takeTurn(name, turn);
      }
      if (!isAtRest) continue;
      await new Promise<void>((resolve) => {
        // A pause may end.
        const timer = setTimeout(resolve, minPauseMs);
        ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  const names = [...turns.keys()];
  /** Finds families with deliveries that have been due for some time. @throws the database's error */
  const look = async (waitedMs: number) => {
    const { rows } = await pool.query<{ name: string }>({
      text: `select name from unnest($1::text[]) name where exists (
        select from receiver.pending_deliveries where family = name and next_at <= now() - $2 * interval '1 ms'
        union all select from receiver.pending_deliveries where family = name and ${isTooFarAhead})`,
      values: [names, waitedMs],
      query_timeout: lookMs,
    });
    wake(rows.map(({ name }) => name));
  };

  const logFailure = throttled((more, err) =>
    log.warn({ err, ...more }, 'deliveries that are due could not be looked up'),
  );
  const lookAgain = async () => {
    while (!signal.aborted) {
      await look(queue ? olderThanMs : 0).catch((error) => {
        logFailure(error);
        // What can be read is merged.
        if (isDamaged(error)) wake(names);
      });
      await sleep(queue ? everyMs : pollMs, undefined, { signal }).catch(() => {});
    }
  };

  const stopJobs = queue?.startJobs((ids, of) => wake(of, ids));
  const running = [loop(), lookAgain()];

  return {
    wake: (of) => wake(of),
    stop: async () => {
      await stopJobs?.();
      stopping.abort();
      ring();
      await Promise.all(running);
    },
  };
}
