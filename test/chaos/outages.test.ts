import { setTimeout as pause } from 'node:timers/promises';
import { consentFormCallback } from '../support/callbacks.ts';
import { spawnReceiver } from '../support/process.ts';
import { contentsOf } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { watchCommands } from './redis-cluster.ts';
import { applied as appliedIds, send as sendTo, sendUntilAcknowledged } from './sending.ts';
import { type SentinelGroup, startSentinelGroup } from './sentinel.ts';
import { type Stage, setStage } from './stage.ts';
import { countJobs, countWaiting } from './stores.ts';

jest.setTimeout(180_000);

let stage: Stage;
let group: SentinelGroup | undefined;
afterEach(async () => {
  await stage.stop();
  await group?.stop();
  group = undefined;
});

const send = () => sendTo(stage);

const statuses = async (count: number) => {
  const answers = await Promise.all(Array.from({ length: count }, send));
  return answers.map(({ response }) => response.status);
};

const applied = (count: number) =>
  until(async () => {
    const rows = await stage.rows(`select status from deliveries`).catch(() => []);
    return rows.filter(({ status }) => status === 'applied').length === count;
  }, 60_000);

it('while PostgreSQL hangs, deliveries are acknowledged from Redis in time, and applied when it is back', async () => {
  stage = await setStage('redis');
  expect(await statuses(5)).toEqual(Array(5).fill(200));
  await applied(5);
  stage.signalDatabase('STOP');
  for (let round = 0; round < 3; round += 1) expect(await statuses(10)).toEqual(Array(10).fill(200));
  expect((await fetch(`${stage.url}/readyz`)).status).toBe(200);
  expect(await contentsOf(stage.redis!.client())).toContain('receipt_url');
  stage.signalDatabase('CONT');
  await applied(35);
  // What waited there is gone from Redis once it is in the database.
  await until(async () => !(await contentsOf(stage.redis!.client())).includes('receipt_url'));
});

it('while PostgreSQL is killed again and again, no job fails for good', async () => {
  stage = await setStage('redis');
  for (let round = 0; round < 3; round += 1) {
    stage.signalDatabase('KILL');
    expect(await statuses(10)).toEqual(Array(10).fill(200));
    await until(async () => (await stage.rows('select 1').catch(() => [])).length === 1);
  }
  await applied(30);
  expect(await stage.rows(`select 1 from deliveries where status = 'failed'`)).toEqual([]);
});

it('while Redis is away the sender notices nothing, and work goes on within seconds of its return', async () => {
  stage = await setStage('redis');
  stage.redis!.process.kill('SIGSTOP');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  stage.redis!.process.kill('SIGCONT');
  await applied(20);
  stage.redis!.process.kill('SIGKILL');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  await stage.redis!.restart();
  await applied(40);
});

const restart = async () => {
  const roles = ['receiver', 'worker'] as const;
  await Promise.all(roles.map((role) => stage.processOf(role).end('SIGKILL')));
  await Promise.all(roles.map((role) => stage.start(role)));
};

it('what starts while PostgreSQL is away takes callbacks, and applies them once it is back', async () => {
  stage = await setStage('redis');
  stage.signalDatabase('STOP');
  await restart();
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  stage.signalDatabase('CONT');
  await applied(20);
  await until(async () => (await countWaiting(stage)) === 0);
});

it('what starts while Redis is away takes callbacks, applies them once it is back, and can rely on it then', async () => {
  stage = await setStage('redis');
  stage.redis!.process.kill('SIGKILL');
  await restart();
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  await stage.redis!.restart();
  await applied(20);
  stage.signalDatabase('STOP');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  stage.signalDatabase('CONT');
  await applied(40);
});

it('what is acknowledged from a Redis that refuses writes now and then is applied once PostgreSQL is back', async () => {
  stage = await setStage('redis');
  stage.link.cut(); // it is soon started again, and stays away all the same
  stage.signalDatabase('KILL');
  const redis = stage.redis!.client();
  let toggling = true;
  const toggled = (async () => {
    for (let on = true; toggling; on = !on) {
      await redis.config('SET', 'min-replicas-to-write', on ? '1' : '0');
      await pause(300);
    }
    await redis.config('SET', 'min-replicas-to-write', '0');
  })();
  const ids = await sendUntilAcknowledged(stage, 200);
  await pause(3_000); // what waits is left alone meanwhile
  await stage.link.mend();
  await pause(3_000); // it refuses some of what the drain asks for, too
  toggling = false;
  await toggled;
  await appliedIds(stage, ids);
  await until(async () => (await countWaiting(stage)) === 0);
});

it("while a family's table is broken the other families are applied, and no jobs pile up", async () => {
  stage = await setStage('redis');
  await stage.rows('alter table receipts rename to receipts_elsewhere');
  const ids: string[] = [];
  for (let form = 0; form < 20; form += 1) {
    ids.push((await send()).id);
    const { id } = await sendTo(stage, 'consent_form', consentFormCallback({ data: { id: `form-${form}` } }));
    await appliedIds(stage, [id]);
    ids.push(id);
  }
  const pending = await stage.rows(`select family from deliveries where status <> 'applied'`);
  expect(pending).toEqual(Array(20).fill({ family: 'receipt' }));
  expect(await countJobs(stage)).toBeLessThan(50);
  await stage.rows('alter table receipts_elsewhere rename to receipts');
  await appliedIds(stage, ids);
});

it('with both stores away nothing is acknowledged, with Retry-After, and all is ready again by itself', async () => {
  stage = await setStage('redis');
  stage.redis!.process.kill('SIGSTOP');
  stage.signalDatabase('STOP');
  const answers = await Promise.all(Array.from({ length: 20 }, send));
  for (const { response } of answers) {
    expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([503, true]);
  }
  expect((await fetch(`${stage.url}/readyz`)).status).toBe(503);
  stage.redis!.process.kill('SIGCONT');
  stage.signalDatabase('CONT');
  await until(async () => (await fetch(`${stage.url}/readyz`)).status === 200);
  await until(async () => (await send().catch(() => undefined))?.response.status === 200);
});

it.each(['redis', 'postgresql'] as const)(
  'with every store on %s away the log stays short, however many callbacks are refused',
  async (backend) => {
    stage = await setStage(backend);
    const before = stage.logLines().length;
    stage.link.cut();
    stage.redisLink?.cut();
    for (let round = 0; round < 20; round += 1) expect(await statuses(20)).toEqual(Array(20).fill(503));
    await Promise.all([stage.link.mend(), stage.redisLink?.mend()]);
    await until(async () => (await send()).status === 200);
    expect(stage.logLines().length - before).toBeLessThan(40);
  },
);

it('a link that comes and goes is one outage in the log of each process', async () => {
  stage = await setStage('redis');
  const reports = () => stage.logLines().filter((line) => line.includes('a store is'));
  let flapping = true;
  const sending = (async () => {
    while (flapping) await statuses(5);
  })();
  for (let times = 0; times < 12; times += 1) {
    stage.link.cut();
    await pause(250);
    await stage.link.mend();
    await pause(350);
  }
  flapping = false;
  await sending;
  await until(() => reports().some((line) => line.includes('is back')));
  expect(reports().length).toBeLessThanOrEqual(4);
});

it('with PostgreSQL away and the queue in PostgreSQL nothing is acknowledged', async () => {
  stage = await setStage('postgresql');
  stage.signalDatabase('STOP');
  expect(await statuses(20)).toEqual(Array(20).fill(503));
  stage.signalDatabase('CONT');
  await until(async () => (await send().catch(() => undefined))?.response.status === 200);
});

it('a Redis failover loses nothing, and the promoted replica holds what waits for PostgreSQL', async () => {
  group = await startSentinelGroup();
  stage = await setStage('redis', { redisUrl: group.url });
  expect(await statuses(10)).toEqual(Array(10).fill(200));
  group.primary.process.kill('SIGKILL');
  expect(await statuses(20)).toEqual(Array(20).fill(200));
  const promoted = group.replica.client();
  await until(async () => (await promoted.info('replication')).includes('role:master'));
  await applied(30);
  stage.signalDatabase('STOP');
  await until(async () => (await send().catch(() => undefined))?.response.status === 200);
  expect(await contentsOf(promoted)).toContain('receipt_url');
  stage.signalDatabase('CONT');
  await until(async () => !(await contentsOf(promoted)).includes('receipt_url'));
  await until(
    async () => (await stage.rows(`select 1 from deliveries where status <> 'applied'`)).length === 0,
  );
  expect((await stage.rows('select 1 from receipts')).length).toBeGreaterThan(30);
});

it('what waits for PostgreSQL waits for the disk of a Redis that can tell', async () => {
  stage = await setStage('redis');
  const parts = await stage.parts();
  const { seen, end } = await watchCommands(stage.redis!);
  stage.signalDatabase('STOP');
  expect(await statuses(3)).toEqual([200, 200, 200]);
  stage.signalDatabase('CONT');
  await until(() => seen.some((command) => command.startsWith('evalsha'))); // jobs were added
  end();
  expect(seen.some((command) => command.startsWith('waitaof'))).toBe(
    parts.fallback!.detail.includes('WAITAOF'),
  );
});

it('says at start and at /readyz what Redis would lose', async () => {
  stage = await setStage('redis');
  const fallback = async () => (await stage.parts()).fallback!.detail;
  const atStart = () => stage.processOf('receiver').output();
  await until(() => /deliveries wait in Redis while PostgreSQL is away/.test(atStart()));
  expect(atStart()).toMatch(/appendfsync is always|WAITAOF/);
  expect(await fallback()).toMatch(/appendfsync is always|WAITAOF/);
  await stage.redis!.client().config('SET', 'maxmemory-policy', 'allkeys-lru');
  await stage.redis!.client().config('SET', 'appendonly', 'no');
  expect(await fallback()).toMatch(/appendonly is off.*maxmemory-policy is allkeys-lru/);
});

it('replay applies failed deliveries again by filter, and a dry run changes nothing', async () => {
  stage = await setStage('postgresql');
  await stage.rows('alter table receipts add constraint broken check (receipt_id > 1000000)');
  await statuses(5);
  await until(
    async () => (await stage.rows(`select 1 from deliveries where status = 'failed'`)).length === 5,
  );
  const replay = async (...args: string[]) => {
    const command = spawnReceiver(['replay', ...args], { DATABASE_URL: stage.databaseUrl });
    expect(await command.end()).toBe(0);
    return command.output();
  };
  expect(await replay('--dry-run')).toContain('0 would be applied, 0 rows would be changed, 5 fail');
  await stage.rows('alter table receipts drop constraint broken');
  expect(await replay('--dry-run')).toContain('5 would be applied, 5 rows would be changed, 0 fail');
  expect(await stage.rows('select 1 from receipts')).toEqual([]);
  expect(await replay('--family', 'consent_form')).toContain('0 applied');
  expect(await replay('--event', 'receipt.created', '--since', '1h')).toContain(
    '5 applied, 5 rows changed, 0 fail',
  );
  expect(await replay('--status', 'applied')).toContain('5 applied, 0 rows changed, 0 fail');
  expect(await stage.rows(`select 1 from deliveries where status = 'applied'`)).toHaveLength(5);
});
