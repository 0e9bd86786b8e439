import { UnrecoverableError } from 'bullmq';
import type pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import type { Times } from '../../common/config/limits.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { pause } from '../../common/timeouts.ts';
import { applied, failed as refused } from '../metrics.ts';
import { type DeliveryQueue, JobPostponed } from '../queue/delivery-queue.ts';
import { OtherFamilies } from '../store/errors.ts';
import { waitingStates } from '../store/statements/pending.ts';
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
  wake: (family: string) => void;
  /** Takes no more, and resolves once the merge in flight has ended. */
  stop: () => Promise<void>;
}

/** It waits for a merge, never for a pause: then jobs of one family would keep those of others out. */
interface WaitingJob {
  ids: readonly string[];
  resolve: () => void;
  reject: (error: Error) => void;
}

interface Turn {
  isDue: boolean;
  jobs: Set<WaitingJob>;
  pausedUntil: number;
  pauseMs: number;
  /** What ends jobs during a pause. */
  pausedBy?: Error;
}

const minPauseMs = 250;
const maxPauseMs = 5_000;
/** Deliveries that are looked up at once while there is a backlog: jobs are taken until they have as many. */
const maxIds = 500;
const lookMs = 5_000;

/**
 * The loop that merges due deliveries, one family at a time, in turns. Jobs, `wake` and the sweep only say which families are
 * due, so a queue that is gone, full or wrong costs seconds, not callbacks. After a merge the jobs end whose deliveries are
 * applied, whoever has merged them.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { pool, families, queue, times, log } = options;
  const names = families.map(({ name }) => name);
  const turns = new Map<string, Turn>(
    names.map((name) => [name, { isDue: false, jobs: new Set(), pausedUntil: 0, pauseMs: 0 }]),
  );
  const stopping = new AbortController();
  const { signal } = stopping;
  let notify = () => {};

  const wake = (name: string) => {
    turns.get(name)!.isDue = true;
    notify();
  };

  const runJob = async (name: string, ids: readonly string[], signal: AbortSignal) => {
    const turn = turns.get(name);
    // Another version of the receiver knows it.
    if (!turn) throw new OtherFamilies();
    if (turn.pausedBy && turn.pausedUntil > performance.now()) throw turn.pausedBy;
    await new Promise<void>((resolve, reject) => {
      const job = { ids, resolve, reject };
      turn.jobs.add(job);
      signal.addEventListener('abort', () => turn.jobs.delete(job));
      wake(name);
    });
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
        return [];
      });
      for (const name of due) wake(name);
      await pause(queue ? times.sweepEveryMs : times.pollMs, signal);
    }
  };

  const stopJobs = queue?.startJobs(runJob);
  const running = [work(), sweep()];
  return {
    wake,
    stop: async () => {
      await stopJobs?.();
      stopping.abort();
      notify();
      await Promise.all(running);
    },
  };
}

async function takeTurn({ merge, pool, log }: WorkerOptions, name: string, turn: Turn): Promise<void> {
  turn.isDue = false;
  const jobs = [...turn.jobs];
  try {
    const { outcome, reason = outcome, isFull, merged, failed } = await merge(name);
    applied.inc(merged);
    refused.inc(failed);
    // While the family has a backlog, the first jobs alone may have ended.
    const tried = isFull ? firstJobs(jobs) : jobs;
    if (tried.length > 0) {
      const values = [name, tried.flatMap(({ ids }) => ids)];
      const { rows } = await pool.query<WaitingState>({ text: waitingStates, values, query_timeout: lookMs });
      endJobs(turn, tried, rows, isFull || outcome !== 'done');
    }
    if (outcome === 'done' || outcome === 'busy') {
      turn.pauseMs = 0;
    } else {
      pauseTurn(turn, reason, outcome);
      log.warn({ family: name, outcome, reason, pauseMs: turn.pauseMs }, 'a family cannot be merged for now');
    }
    // Else the sweep takes it up after a pause.
    turn.isDue ||= isFull || turn.jobs.size > 0;
  } catch (err) {
    turn.isDue = true;
    pauseTurn(turn, 'its merge failed: see the log of the worker');
    log.warn({ err, family: name, pauseMs: turn.pauseMs }, 'a merge failed and is repeated');
  }
}

function firstJobs(jobs: readonly WaitingJob[]): WaitingJob[] {
  const first: WaitingJob[] = [];
  let count = 0;
  for (const job of jobs) {
    if (count >= maxIds) break;
    first.push(job);
    count += job.ids.length;
  }
  return first;
}

interface WaitingState {
  id: string;
  error: string | null;
  /** Infinity: PostgreSQL has refused its data. */
  waitMs: number;
}

/** Ends the jobs of a merge. @param isPartial it may not have tried all that were due: their jobs stay */
function endJobs(
  turn: Turn,
  jobs: readonly WaitingJob[],
  states: readonly WaitingState[],
  isPartial = false,
): void {
  const byId = new Map(states.map((state) => [state.id, state]));
  for (const job of jobs) {
    const left = job.ids.flatMap((id) => byId.get(id) ?? []).toSorted((a, b) => a.waitMs - b.waitMs);
    const [first] = left;
    if (first && first.waitMs <= 0 && isPartial) continue;
    turn.jobs.delete(job);
    if (!first) job.resolve();
    else if (first.waitMs === Number.POSITIVE_INFINITY) job.reject(new UnrecoverableError(first.error ?? ''));
    else job.reject(new JobPostponed(first.error ?? 'not merged yet', first.waitMs));
  }
}

function pauseTurn(turn: Turn, reason: string, outcome?: 'broken' | 'foreign'): void {
  turn.pauseMs = Math.min(Math.max(turn.pauseMs * 2, minPauseMs), maxPauseMs);
  turn.pausedUntil = performance.now() + turn.pauseMs;
  turn.pausedBy = outcome === 'foreign' ? new OtherFamilies() : new JobPostponed(reason, turn.pauseMs);
  for (const job of turn.jobs) job.reject(turn.pausedBy);
  turn.jobs.clear();
}

async function findDue(pool: pg.Pool, names: readonly string[], waitedMs: number): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>({
    text: `select name from unnest($1::text[]) name where exists (
      select from receiver.pending_deliveries where family = name and next_at <= now() - $2 * interval '1 ms')`,
    values: [names, waitedMs],
    query_timeout: lookMs,
  });
  return rows.map(({ name }) => name);
}
