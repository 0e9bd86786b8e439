import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type pg from 'pg';
import type { Log } from '../common/log.ts';
import { pause } from '../common/timeouts.ts';
import type { Task } from '../receiver/feature.ts';

/** How long a task stays with a process that is gone. */
const leaseMs = 60_000;
/** The longest pause between looks at whether a task is due, and after a failure. */
const maxPauseMs = 60_000;

/**
 * Runs tasks when they are due, each in one process at a time: a row with a time says whose it is. No lock is held. Those of
 * each process run without the database.
 *
 * @returns a function that ends them
 */
export function startTasks(tasks: readonly Task[], pool: pg.Pool, log: Log): () => Promise<void> {
  const stopping = new AbortController();
  // Each task listens; Node.js warns of more than ten.
  setMaxListeners(0, stopping.signal);
  const running = tasks.map((task) =>
    task.processes === 'each'
      ? repeatHere(task, log, stopping.signal)
      : repeat(task, pool, log, stopping.signal),
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
  { name, everyMs, run }: Task,
  pool: pg.Pool,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  const holder = randomUUID();
  const renew = async () => (await pool.query(renewal, [name, holder, leaseMs])).rowCount === 1;
  while (!stop.aborted) {
    try {
      if ((await pool.query(lease, [name, holder, leaseMs, everyMs])).rowCount === 1) {
        const isDone = await runOnce(run, renew, stop).then(
          () => !stop.aborted,
          (error) => {
            if (!stop.aborted) log.error({ task: name, err: error }, 'a task failed, and is run again');
            return false;
          },
        );
        await pool.query(release, [
          ...[name, holder, isDone ? everyMs : Math.min(everyMs, maxPauseMs), isDone],
        ]);
      }
    } catch (error) {
      log.limited('warn', { task: name }, 'a task waits for the database', { err: error });
    }
    await pause(Math.min(everyMs, maxPauseMs), stop);
  }
}

/** Runs a task while its lease can be renewed. @throws the task's error */
async function runOnce(run: Task['run'], renew: () => Promise<boolean>, stop: AbortSignal): Promise<void> {
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
  try {
    await run(AbortSignal.any([stop, lost.signal]));
  } finally {
    clearInterval(timer);
  }
}

const interval = (ms: string) => `${ms} * interval '1 millisecond'`;
const lease = `
insert into receiver.tasks as t (name, holder, held_until) values ($1, $2, now() + ${interval('$3')})
on conflict (name) do update set holder = excluded.holder, held_until = excluded.held_until
-- A clock that was ahead keeps it for no longer.
where (t.due_at <= now() or t.due_at > now() + ${interval('$4')})
  and (t.held_until <= now() or t.held_until > now() + 2 * ${interval('$3')})`;
const renewal = `update receiver.tasks set held_until = now() + ${interval('$3')} where name = $1 and holder = $2`;
const release = `
update receiver.tasks set held_until = '-infinity', due_at = now() + ${interval('$3')},
  failing_since = case when not $4 then coalesce(failing_since, now()) end
where name = $1 and holder = $2`;
