import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { sql } from 'kysely';
import type { Log } from '../common/log.ts';
import { pause } from '../common/timeouts.ts';
import type { Task } from '../receiver/feature.ts';
import type { Db } from '../receiver/store/tables.ts';

const defaultLeaseMs = 60_000;
const maxPauseMs = 60_000;

const later = (ms: number) => sql<Date>`now() + ${ms}::float8 * interval '1 millisecond'`;

/** Each in one process at a time: a row with a time says whose it is. No lock is held. @returns a function that ends them */
export function startTasks(tasks: readonly Task[], db: Db, log: Log): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  // Each task listens; Node.js warns of more than ten.
  setMaxListeners(0, signal);
  const running = tasks.map((task) =>
    task.processes === 'each' ? repeatHere(task, log, signal) : repeat(task, db, log, signal),
  );
  return async () => {
    stopping.abort();
    await Promise.all(running);
  };
}

async function repeatHere({ name, everyMs, run }: Task, log: Log, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await run(stop).catch(
      (err) => stop.aborted || log.limited('warn', { task: name }, 'a task failed', { err }),
    );
    await pause(everyMs, stop);
  }
}

async function repeat(
  { name, everyMs, retryMs = Math.min(everyMs, maxPauseMs), leaseMs = defaultLeaseMs, run }: Task,
  db: Db,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  const holder = randomUUID();
  const pauseMs = Math.min(everyMs, maxPauseMs);
  const lease = sql`
    insert into receiver.tasks as t (name, holder, held_until) values (${name}, ${holder}, ${later(leaseMs)})
    on conflict (name) do update set holder = excluded.holder, held_until = excluded.held_until
    where t.due_at <= now() and t.held_until <= now()`;
  const own = db.updateTable('receiver.tasks').where('name', '=', name).where('holder', '=', holder);
  const renewal = own.set({ held_until: later(leaseMs) });
  const renew = async () => (await renewal.executeTakeFirst()).numUpdatedRows === 1n;
  const release = (isDone: boolean, startedAt: number) => {
    // What is stopped has not failed, and works where it has gone on for so long.
    const works = isDone || (stop.aborted && performance.now() - startedAt > leaseMs);
    const since = stop.aborted ? sql<Date>`failing_since` : sql<Date>`coalesce(failing_since, now())`;
    const due_at = later(isDone ? everyMs : retryMs);
    return own.set({ held_until: '-infinity', due_at, failing_since: works ? null : since });
  };
  while (!stop.aborted) {
    try {
      if ((await lease.execute(db)).numAffectedRows === 1n) {
        const startedAt = performance.now();
        const isDone = await runOnce(run, renew, leaseMs, stop).then(
          () => !stop.aborted,
          (err) => {
            if (!stop.aborted) log.error({ task: name, err }, 'a task failed, and is run again');
            return false;
          },
        );
        await release(isDone, startedAt).execute();
      }
    } catch (err) {
      log.limited('warn', { task: name }, 'a task waits for the database', { err });
    }
    await pause(pauseMs, stop);
  }
}

async function runOnce(
  run: Task['run'],
  renew: () => Promise<boolean>,
  leaseMs: number,
  stop: AbortSignal,
): Promise<void> {
  const lost = new AbortController();
  let renewedAt = performance.now();
  const timer = setInterval(() => {
    void renew()
      .then((isOurs) => {
        if (isOurs) renewedAt = performance.now();
        else lost.abort();
      })
      .catch(() => {
        // The database is away: others may have the task once the lease is over.
        if (performance.now() - renewedAt > leaseMs / 2) lost.abort();
      });
  }, leaseMs / 6);
  const signal = AbortSignal.any([stop, lost.signal]);
  // Each change that is being sent listens, too.
  setMaxListeners(0, signal);
  try {
    await run(signal);
  } finally {
    clearInterval(timer);
  }
}
