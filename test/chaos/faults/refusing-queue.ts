import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import { withSession } from '../session.ts';
import { longMs } from './outages.ts';

const tooMany = '54000';

/** Notifications that nobody reads fill their queue: a session that listens stays in a transaction. */
async function fillNotifications(client: pg.Client, { rows }: Deployment): Promise<void> {
  await client.query('listen filled');
  await client.query('begin');
  await client.query('select 1');
  const notify = async () => {
    try {
      await rows(`select pg_notify('filled', repeat('x', 7900))`);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== tooMany) throw error;
      return false;
    }
  };
  while (await notify());
}

/** The lock that BullMQ takes when it adds or finishes a job. */
async function lockQueue(client: pg.Client): Promise<void> {
  await client.query(`
    select pg_advisory_lock(hashtext('bullmq:finalization'), hashtext(queue))
    from (select queue from bullmq.meta union select queue from bullmq.job) as queues`);
}

const during =
  (refuse: (client: pg.Client, deployment: Deployment) => Promise<void>): Fault['inject'] =>
  (deployment, _random, run) =>
    withSession(deployment, async (client) => {
      await refuse(client, deployment);
      await Promise.all([run.expectOthersApplied(), pause(longMs)]);
    });

/** The queue in PostgreSQL takes no jobs, while all tables are well. */
export const refusingQueueFaults: Fault[] = [
  { name: 'the queue of notifications full', backends: ['postgresql'], inject: during(fillNotifications) },
  { name: "BullMQ's lock held by a session", backends: ['postgresql'], inject: during(lockQueue) },
];
