import { setTimeout as pause } from 'node:timers/promises';
import { consentFormCallback } from '../support/callbacks.ts';
import { spawnReceiver } from '../support/process.ts';
import { contentsOf } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { countJobs, countWaiting } from './counts.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import { watchCommands } from './redis-cluster.ts';
import { send as sendTo, sendUntilAcknowledged, untilApplied } from './sending.ts';
import { type SentinelGroup, startSentinelGroup } from './sentinel.ts';

let deployment: Deployment;
let group: SentinelGroup | undefined;
afterEach(async () => {
  await deployment.stop();
  await group?.stop();
  group = undefined;
});

const send = () => sendTo(deployment);

const statuses = async (count: number) => {
  const responses = await Promise.all(Array.from({ length: count }, send));
  return responses.map(({ response }) => response.status);
};

const untilCountApplied = (count: number) =>
  until(async () => {
    const rows = await deployment.rows(`select status from deliveries`).catch(() => []);
    return rows.filter(({ status }) => status === 'applied').length === count;
  });

it('while PostgreSQL hangs, deliveries are acknowledged from Redis in time, and applied afterwards', async () => {
  deployment = await startDeployment('redis');
  expect(await statuses(5)).toEqual(Array(5).fill(200));
  await untilCountApplied(5);
  deployment.signalDatabase('STOP');
  for (let round = 0; round < 3; round += 1) expect(await statuses(10)).toEqual(Array(10).fill(200));
  expect((await fetch(`${deployment.url}/readyz`)).status).toBe(200);
  expect(await contentsOf(deployment.redis!.client())).toContain('receipt_url');
  deployment.signalDatabase('CONT');
  await untilCountApplied(35);
  // Drained deliveries are removed from Redis.
  await until(async () => !(await contentsOf(deployment.redis!.client())).includes('receipt_url'));
});

it('while PostgreSQL is killed repeatedly, no delivery fails', async () => {
  deployment = await startDeployment('redis');
  for (let round = 0; round < 3; round += 1) {
    deployment.signalDatabase('KILL');
    expect(await statuses(10)).toEqual(Array(10).fill(200));
    await until(async () => (await deployment.rows('select 1').catch(() => [])).length === 1);
  }
  await untilCountApplied(30);
  expect(await deployment.rows(`select 1 from deliveries where status = 'failed'`)).toEqual([]);
});

it('while Redis is unavailable every callback is acknowledged, and applied once Redis is available again', async () => {
  deployment = await startDeployment('redis');
  deployment.redis!.process.kill('SIGSTOP');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  deployment.redis!.process.kill('SIGCONT');
  await untilCountApplied(20);
  deployment.redis!.process.kill('SIGKILL');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  await deployment.redis!.restart();
  await untilCountApplied(40);
});

const restart = async () => {
  const roles = ['receiver', 'worker'] as const;
  await Promise.all(roles.map((role) => deployment.processOf(role).end('SIGKILL')));
  await Promise.all(roles.map((role) => deployment.start(role)));
};

it('a service that starts while PostgreSQL is unavailable accepts callbacks, and applies them afterwards', async () => {
  deployment = await startDeployment('redis');
  deployment.signalDatabase('STOP');
  await restart();
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  deployment.signalDatabase('CONT');
  await untilCountApplied(20);
  await until(async () => (await countWaiting(deployment)) === 0);
});

it('a service that starts while Redis is unavailable accepts callbacks, applies them afterwards, and then uses Redis as its fallback', async () => {
  deployment = await startDeployment('redis');
  deployment.redis!.process.kill('SIGKILL');
  await restart();
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  await deployment.redis!.restart();
  await untilCountApplied(20);
  deployment.signalDatabase('STOP');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  deployment.signalDatabase('CONT');
  await untilCountApplied(40);
});

it('deliveries acknowledged from a Redis that rejects writes at times are applied once PostgreSQL is available', async () => {
  deployment = await startDeployment('redis');
  deployment.link.cut(); // it is restarted at once, and stays unreachable
  deployment.signalDatabase('KILL');
  const redis = deployment.redis!.client();
  let toggling = true;
  const toggled = (async () => {
    for (let on = true; toggling; on = !on) {
      await redis.config('SET', 'min-replicas-to-write', on ? '1' : '0');
      await pause(300);
    }
    await redis.config('SET', 'min-replicas-to-write', '0');
  })();
  const ids = await sendUntilAcknowledged(deployment, 200);
  await pause(3_000); // PostgreSQL stays unreachable
  await deployment.link.restore();
  await pause(3_000); // Redis rejects writes of the drain, too
  toggling = false;
  await toggled;
  await untilApplied(deployment, ids);
  await until(async () => (await countWaiting(deployment)) === 0);
});

it("while a family's table is broken the other families are applied, and no jobs accumulate", async () => {
  deployment = await startDeployment('redis');
  await deployment.rows('alter table receipts rename to receipts_elsewhere');
  const ids: string[] = [];
  for (let form = 0; form < 20; form += 1) {
    ids.push((await send()).id);
    const { id } = await sendTo(
      deployment,
      'consent_form',
      consentFormCallback({ data: { id: `form-${form}` } }),
    );
    await untilApplied(deployment, [id]);
    ids.push(id);
  }
  const pending = await deployment.rows(`select family from deliveries where status <> 'applied'`);
  expect(pending).toEqual(Array(20).fill({ family: 'receipt' }));
  expect(await countJobs(deployment)).toBeLessThan(50);
  await deployment.rows('alter table receipts_elsewhere rename to receipts');
  await untilApplied(deployment, ids);
});

it('with both stores unavailable callbacks are rejected with Retry-After, until the receiver is ready again by itself', async () => {
  deployment = await startDeployment('redis');
  deployment.redis!.process.kill('SIGSTOP');
  deployment.signalDatabase('STOP');
  const responses = await Promise.all(Array.from({ length: 20 }, send));
  for (const { response } of responses) {
    expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([503, true]);
  }
  expect((await fetch(`${deployment.url}/readyz`)).status).toBe(503);
  deployment.redis!.process.kill('SIGCONT');
  deployment.signalDatabase('CONT');
  await until(async () => (await fetch(`${deployment.url}/readyz`)).status === 200);
  await until(async () => (await send().catch(() => undefined))?.response.status === 200);
});

it.each(['redis', 'postgresql'] as const)(
  'with every store on %s unavailable the log stays short, however many callbacks are rejected',
  async (backend) => {
    deployment = await startDeployment(backend);
    const before = deployment.logLines().length;
    deployment.link.cut();
    deployment.redisLink?.cut();
    for (let round = 0; round < 20; round += 1) expect(await statuses(20)).toEqual(Array(20).fill(503));
    await Promise.all([deployment.link.restore(), deployment.redisLink?.restore()]);
    await until(async () => (await send()).status === 200);
    expect(deployment.logLines().length - before).toBeLessThan(40);
  },
);

it('an unstable link is one outage in the log of each process', async () => {
  deployment = await startDeployment('redis');
  const reports = () => deployment.logLines().filter((line) => /store (un)?available/.test(line));
  let flapping = true;
  const sending = (async () => {
    while (flapping) await statuses(5);
  })();
  for (let times = 0; times < 12; times += 1) {
    deployment.link.cut();
    await pause(250);
    await deployment.link.restore();
    await pause(350);
  }
  flapping = false;
  await sending;
  await until(() => reports().some((line) => line.includes('store available again')));
  expect(reports().length).toBeLessThanOrEqual(4);
});

it('with PostgreSQL unavailable and the queue in PostgreSQL no callback is acknowledged', async () => {
  deployment = await startDeployment('postgresql');
  deployment.signalDatabase('STOP');
  expect(await statuses(20)).toEqual(Array(20).fill(503));
  deployment.signalDatabase('CONT');
  await until(async () => (await send().catch(() => undefined))?.response.status === 200);
});

it('a Redis failover loses no delivery, and the promoted replica becomes the fallback', async () => {
  group = await startSentinelGroup();
  deployment = await startDeployment('redis', { redisUrl: group.url });
  expect(await statuses(10)).toEqual(Array(10).fill(200));
  group.primary.process.kill('SIGKILL');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  const promoted = group.replica.client();
  await until(async () => (await promoted.info('replication')).includes('role:master'));
  await untilCountApplied(30);
  // It acknowledges once it has a replica, too.
  await group.primary.restart();
  await until(async () => (await promoted.info('replication')).includes('state=online'));
  deployment.signalDatabase('STOP');
  await until(async () => (await send().catch(() => undefined))?.response.status === 200);
  expect(await contentsOf(promoted)).toContain('receipt_url');
  deployment.signalDatabase('CONT');
  await until(async () => !(await contentsOf(promoted)).includes('receipt_url'));
  await until(
    async () => (await deployment.rows(`select 1 from deliveries where status <> 'applied'`)).length === 0,
  );
  expect((await deployment.rows('select 1 from receipts')).length).toBeGreaterThan(30);
});

it('a delivery in the fallback is confirmed on disk where Redis supports WAITAOF', async () => {
  deployment = await startDeployment('redis');
  const readiness = await deployment.readiness();
  const { seen, end } = await watchCommands(deployment.redis!);
  deployment.signalDatabase('STOP');
  expect(await statuses(3)).toEqual([200, 200, 200]);
  deployment.signalDatabase('CONT');
  await until(() => seen.some((command) => command.startsWith('evalsha'))); // jobs were added
  end();
  expect(seen.some((command) => command.startsWith('waitaof'))).toBe(
    readiness.fallback!.detail.includes('WAITAOF'),
  );
});

it('logs at start and shows at /readyz which deliveries Redis may lose', async () => {
  deployment = await startDeployment('redis');
  const fallback = async () => (await deployment.readiness()).fallback!.detail;
  const atStart = () => deployment.processOf('receiver').output();
  await until(() => /Redis is the fallback store while PostgreSQL is unavailable/.test(atStart()));
  expect(atStart()).toMatch(/appendfsync is always|WAITAOF/);
  expect(await fallback()).toMatch(/appendfsync is always|WAITAOF/);
  await deployment.redis!.client().config('SET', 'maxmemory-policy', 'allkeys-lru');
  await deployment.redis!.client().config('SET', 'appendonly', 'no');
  await until(async () => /appendonly is off.*maxmemory-policy is allkeys-lru/.test(await fallback())); // shared for a second
});

it('replay applies failed deliveries again by filter, and a dry run changes nothing', async () => {
  deployment = await startDeployment('postgresql');
  await deployment.rows('alter table receipts add constraint broken check (receipt_id > 1000000)');
  await statuses(5);
  await until(
    async () => (await deployment.rows(`select 1 from deliveries where status = 'failed'`)).length === 5,
  );
  const replay = async (...args: string[]) => {
    const command = spawnReceiver(['replay', ...args], { DATABASE_URL: deployment.databaseUrl });
    expect(await command.end()).toBe(0);
    return command.output();
  };
  expect(await replay('--dry-run')).toContain('0 would be applied, 0 rows would be changed, 5 fail');
  await deployment.rows('alter table receipts drop constraint broken');
  expect(await replay('--dry-run')).toContain('5 would be applied, 5 rows would be changed, 0 fail');
  expect(await deployment.rows('select 1 from receipts')).toEqual([]);
  expect(await replay('--family', 'consent_form')).toContain('0 applied');
  expect(await replay('--event', 'receipt.created', '--since', '1h')).toContain(
    '5 applied, 5 rows changed, 0 fail',
  );
  expect(await replay('--status', 'applied')).toContain('5 applied, 0 rows changed, 0 fail');
  expect(await deployment.rows(`select 1 from deliveries where status = 'applied'`)).toHaveLength(5);
});
