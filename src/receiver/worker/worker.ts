import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type Log, throttled } from '../../common/log.ts';
import type { Family } from '../families/family.ts';
import type { Merge, MergeResult } from './merge.ts';
import { createMergeStale } from './merge-stale.ts';

/** Merges the deliveries of a job. @throws while the database is unavailable: the job has to come again */
export type RunJob = (ids: readonly string[], families: readonly string[]) => Promise<void>;

/** The jobs of the queue. */
export interface JobSource {
  /** @returns a function that takes no more jobs and resolves once those that run have ended */
  startJobs: (run: RunJob) => (() => Promise<void>) | Promise<() => Promise<void>>;
}

export interface WorkerOptions {
  merge: Merge;
  pool: pg.Pool;
  families: readonly Family[];
  /** Without it the worker looks for what is due by itself. */
  queue?: JobSource | undefined;
  /** In milliseconds. */
  sweep?: {
    /** With a queue: how often it looks for what has waited. */
    everyMs?: number;
    /** With a queue: how long it has waited then. */
    olderThanMs?: number;
    /** Without a queue: how often it looks for what is due. */
    pollMs?: number;
  };
  log: Pick<Log, 'warn'>;
}

export interface Worker {
  /** Says that deliveries of these families are stored. */
  wake: (families: readonly string[]) => void;
  /** Resolves once nothing is due: deliveries that have failed or pause do not count, nor families that pause. */
  idle: () => Promise<void>;
  /** Merges records again whose rows lack their newest callback, see merge-stale.ts. @returns how many there were */
  mergeStale: () => Promise<number>;
  /** Takes no more, and resolves once the merge in flight has ended. */
  stop: () => Promise<void>;
}

interface Job {
  ids: readonly string[];
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** What a family has to do. */
interface Turn {
  isDue: boolean;
  jobs: Job[];
  /** By `performance.now()`. */
  pausedUntil: number;
  pauseMs: number;
}

const minPauseMs = 250;
const maxPauseMs = 10_000;
const maxIds = 500;
const lookMs = 5_000;
const hourMs = 3_600_000;

/**
 * The loop that merges what is due, one family at a time, in turns: what jobs and `wake` name, and what the sweep finds. So
 * a queue that is gone, full or wrong costs seconds, not callbacks.
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { merge, pool, families, queue, log } = options;
  const { everyMs = 2_000, olderThanMs = 5_000, pollMs = 250 } = options.sweep ?? {};
  const turns = new Map<string, Turn>(
    families.map(({ name }) => [name, { isDue: false, jobs: [], pausedUntil: 0, pauseMs: 0 }]),
  );
  const stopping = new AbortController();
  const { signal } = stopping;
  let ring = () => {};
  const atRest: (() => void)[] = [];

  const isWaiting = ({ isDue, jobs }: Turn) => isDue || jobs.length > 0;
  const wake = (names: readonly string[]) => {
    for (const name of names) {
      const turn = turns.get(name);
      if (turn) turn.isDue = true;
    }
    ring();
  };

  const runJob: RunJob = async (ids, names) => {
    const waiting = names.flatMap((name) => {
      const turn = turns.get(name);
      // Another version of the receiver knows the other families.
      if (!turn) return [];
      if (turn.pausedUntil > performance.now()) {
        // The jobs of other families must not wait behind this one.
        turn.isDue = true;
        return [];
      }
      return [new Promise<void>((resolve, reject) => turn.jobs.push({ ids, resolve, reject }))];
    });
    ring();
    await Promise.all(waiting);
  };

  const pause = (turn: Turn) => {
    turn.pauseMs = Math.min(Math.max(turn.pauseMs * 2, minPauseMs), maxPauseMs);
    turn.pausedUntil = performance.now() + turn.pauseMs;
  };

  /** The jobs that fit in one merge. */
  const takeJobs = (turn: Turn) => {
    let size = 0;
    const end = turn.jobs.findIndex(({ ids }, index) => {
      size += ids.length;
      return size > maxIds && index > 0;
    });
    return turn.jobs.splice(0, end < 0 ? turn.jobs.length : end);
  };

  const settle = (turn: Turn, name: string, result: MergeResult) => {
    const { outcome, reason, isFull } = result;
    if (outcome === 'done' || outcome === 'busy') turn.pauseMs = 0;
    else {
      pause(turn);
      log.warn({ family: name, outcome, reason, pauseMs: turn.pauseMs }, 'a family cannot be merged for now');
    }
    // What pauses is taken up by a look.
    if (isFull || outcome === 'busy') turn.isDue = true;
  };

  const takeTurn = async (name: string, turn: Turn) => {
    const jobs = takeJobs(turn);
    const ids = jobs.flatMap((job) => job.ids);
    turn.isDue = false;
    try {
      for (let i = 0; i === 0 || i < ids.length; i += maxIds)
        settle(turn, name, await merge(name, { ids: ids.slice(i, i + maxIds) }));
      for (const { resolve } of jobs) resolve();
    } catch (error) {
      pause(turn);
      turn.isDue = true;
      log.warn({ err: error, family: name, pauseMs: turn.pauseMs }, 'a merge failed and is repeated');
      for (const { reject } of jobs) reject(error);
    }
  };

  const loop = async () => {
    const names = [...turns.keys()];
    let next = 0;
    while (!signal.aborted) {
      const now = performance.now();
      const at = names.findIndex((_, i) => {
        const turn = turns.get(names[(next + i) % names.length]!)!;
        return isWaiting(turn) && turn.pausedUntil <= now;
      });
      if (at >= 0) {
        const name = names[(next + at) % names.length]!;
        next = (next + at + 1) % names.length;
        await takeTurn(name, turns.get(name)!);
        continue;
      }
      const pauses = [...turns.values()].filter(isWaiting).map(({ pausedUntil }) => pausedUntil - now);
      for (const resolve of atRest.splice(0)) resolve();
      await new Promise<void>((resolve) => {
        const timer = pauses.length > 0 ? setTimeout(resolve, Math.min(...pauses)) : undefined;
        ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    for (const resolve of atRest.splice(0)) resolve();
    // Others sweep them.
    for (const { jobs } of turns.values()) for (const { resolve } of jobs.splice(0)) resolve();
  };

  /** @returns families with deliveries that have been due for some time. @throws the database's error */
  const look = async (waitedMs: number): Promise<string[]> => {
    const { rows } = await pool.query<{ name: string }>({
      text: `select name from unnest($1::text[]) name where exists (
        select from receiver.pending_deliveries where family = name and next_at <= now() - $2 * interval '1 ms')`,
      values: [[...turns.keys()], waitedMs],
      query_timeout: lookMs,
    });
    return rows.map(({ name }) => name);
  };

  const logFailure = throttled((more, err) =>
    log.warn({ err, ...more }, 'deliveries that are due could not be looked up'),
  );
  const repeat = async (ms: number, run: () => Promise<unknown>) => {
    while (!signal.aborted) {
      await run().catch(logFailure);
      await sleep(ms, undefined, { signal }).catch(() => {});
    }
  };

  const stale = createMergeStale({ pool, families, merge, log });
  /** One worker a day. */
  const mergeStaleDaily = async () => {
    const { rowCount } = await pool.query({
      text: `insert into receiver.settings values ('stale_merged', now()::text) on conflict (name) do update
        set value = excluded.value where settings.value::timestamptz < now() - interval '1 day'`,
      query_timeout: lookMs,
    });
    if (rowCount) await stale(signal);
  };

  const stopJobs = await queue?.startJobs(runJob);
  const running = [
    loop(),
    repeat(queue ? everyMs : pollMs, async () => wake(await look(queue ? olderThanMs : 0))),
    repeat(hourMs, mergeStaleDaily),
  ];

  return {
    wake,
    mergeStale: () => stale(signal),
    idle: async () => {
      while (!signal.aborted) {
        const due = await look(0);
        wake(due);
        await new Promise<void>((resolve) => {
          atRest.push(resolve);
          ring();
        });
        if (due.every((name) => turns.get(name)!.pausedUntil > performance.now())) return;
      }
    },
    stop: async () => {
      await stopJobs?.();
      stopping.abort();
      ring();
      await Promise.all(running);
    },
  };
}
