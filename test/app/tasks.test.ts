import { once } from 'node:events';
import { readService, startService } from '../../src/app/service.ts';
import { startTasks } from '../../src/app/tasks.ts';
import { createLog } from '../../src/common/log.ts';
import { newRecords } from '../../src/sandbox/platform-records.ts';
import { sandboxToken, startSandbox } from '../../src/sandbox/platform-server.ts';
import { startWebhook } from '../support/alert-channels.ts';
import { closeLater } from '../support/close-later.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase('test');

/** Starts the real service, with every feature on. */
async function start(env: Record<string, string>) {
  const records = newRecords([{ kind: 'business', id: 'b-1', alias: 'North' }]);
  const [platform, webhook] = [await startSandbox({ records }), await startWebhook()];
  closeLater(platform.close);
  const service = await readService({
    ...{ PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: database.url, ALERT_WEBHOOK_URL: webhook.url },
    ...{ RECONCILE: '7d', SERVICE_BASE_URL: platform.url, SERVICE_TOKEN: sandboxToken, ...env },
  });
  const { stop } = await startService(service, createLog('silent'));
  closeLater(stop);
}

const tasks = async (where: string) => {
  const rows = await database.rows(`select name from receiver.tasks where ${where} order by name`);
  return rows.map(({ name }) => name as string);
};

const failingSince = async () =>
  (await database.rows('select failing_since from receiver.tasks'))[0]?.failing_since;

it('the service runs each task of each feature, and does their work', async () => {
  const old = '018f0000-0000-8000-8000-000000000001';
  await database.rows(`insert into receiver.quarantine (id, path, family, reason, errors, body, last_received_at)
    values ('${old}', '/', '', 'invalid', '[]', '', now() - interval '91 days')`);
  await database.rows(`insert into receiver.erasures (id, actor, until, patient_hashes, subjects)
    values ('${old}', 'test', now(), '{}', '{}')`);
  await start({});
  const daily = ['changes', 'reconciliation', 'retention', 'stale', 'trim'];
  const frequent = ['alerts', 'destinations', 'erasures', 'silence'];
  await until(async () => {
    const done = [
      ...(await tasks(`due_at > now() + interval '1 hour'`)),
      // It goes on for as long as the process.
      ...(await tasks(
        `name in ('alerts', 'erasures', 'silence') and due_at > now() or name = 'destinations'`,
      )),
    ];
    return [...daily, ...frequent].every((name) => done.includes(name));
  });
  expect(await tasks('failing_since is null')).toEqual([...daily, ...frequent].toSorted());
  expect(await database.rows('select id from receiver.quarantine')).toEqual([]);
  expect(await database.rows('select id from receiver.erasures where completed_at is null')).toEqual([]);
  expect(await database.rows('select error from receiver.reconciliations')).toEqual([{ error: null }]);
  await until(() => database.count('receiver.heartbeats'));
});

it('a process with role receiver leaves tasks to workers, but for alerts, and says that it lives', async () => {
  await start({ ROLE: 'receiver' });
  await until(() => database.count('receiver.heartbeats'));
  await until(async () => (await tasks('due_at > now()')).length > 0);
  expect(await tasks('true')).toEqual(['alerts']);
});

it('a task that fails is seen until it succeeds', async () => {
  let isBroken = true;
  const run = async () => {
    if (isBroken) throw new Error('a');
  };
  const stop = startTasks([{ name: 't', everyMs: 1, run }], database.db, createLog('silent'));
  await until(failingSince);
  isBroken = false;
  await until(async () => !(await failingSince()));
  await stop();
});

it('a stop makes no task fail, and ends the failure of one that has gone on for longer than its lease', async () => {
  const runUntilStop = async (leaseMs: number, hasGoneOn: (ms: number) => boolean) => {
    let startedAt: number | undefined;
    const run = (signal: AbortSignal) => {
      startedAt = performance.now();
      return once(signal, 'abort');
    };
    await database.rows(`update receiver.tasks set due_at = '-infinity'`);
    const stop = startTasks([{ name: 't', everyMs: 1, leaseMs, run }], database.db, createLog('silent'));
    await until(() => startedAt && hasGoneOn(performance.now() - startedAt));
    await stop();
  };
  await runUntilStop(60_000, () => true);
  expect(await failingSince()).toBeNull();
  const since = new Date('2026-01-01');
  await database.rows('update receiver.tasks set failing_since = $1', [since]);
  await runUntilStop(60_000, () => true);
  expect(await failingSince()).toEqual(since);
  await runUntilStop(1_000, (ms) => ms > 1_100);
  expect(await failingSince()).toBeNull();
});
