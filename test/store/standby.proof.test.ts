import { isOutage } from '../../src/store/faults.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { spawnReceiver } from '../support/process.ts';
import { post, startTestService } from '../support/service.ts';
import {
  type Standby,
  setSynchronous,
  startPrimary,
  startStandby,
  type TestServer,
} from '../support/standby.ts';
import { until } from '../support/until.ts';

let primary: TestServer;
let standby: Standby;
beforeEach(async () => {
  primary = await startPrimary();
  standby = await startStandby(primary);
});
afterEach(async () => {
  await standby.stop();
  await primary.stop();
});

const send = async (url: string, receipt_id: number) =>
  (await post(`${url}${paths.receipt}`, receiptCallback({ data: { receipt_id } }))).status;

it('a standby has the rows of its primary, and accepts writes once it is promoted', async () => {
  await primary.rows('create table things as select 1 as n');
  await until(() =>
    standby.rows('select n from things').then(
      ([row]) => row?.n === 1,
      () => false,
    ),
  );
  const error = await standby.rows('insert into things values (2)').catch((e: unknown) => e);
  expect(error).toMatchObject({ code: '25006' });
  expect(isOutage(error)).toBe(true);
  await primary.kill();
  await standby.promote();
  await standby.rows('insert into things values (2)');
  expect(await standby.rows('select n from things order by n')).toEqual([{ n: 1 }, { n: 2 }]);
});

it('a service on a standby does not start, and says why', async () => {
  const start = () => spawnReceiver(['start'], { PORT: '0', DATABASE_URL: standby.url });
  const expectFailedStart = async () => {
    const service = start();
    expect(await service.end()).toBe(1);
    expect(service.output()).not.toContain('"msg":"ready"');
    expect(service.output()).toContain('The server of DATABASE_URL takes no writes');
  };
  await expectFailedStart();
  // The same when there is nothing to migrate.
  await (await startTestService({ databaseUrl: primary.url, role: 'receiver' })).stop();
  const [row] = await primary.rows('select pg_current_wal_lsn()::text as lsn');
  await until(
    async () => (await standby.rows(`select pg_last_wal_replay_lsn() >= '${row!.lsn}' as there`))[0]!.there,
  );
  await expectFailedStart();
});

it('a synchronous standby has every acknowledged delivery when the primary is lost', async () => {
  const service = await startTestService({ databaseUrl: primary.url, role: 'receiver' });
  try {
    await setSynchronous(primary, true);
    const sent = Array.from({ length: 200 }, (_, index) => index);
    const statuses = await Promise.all(sent.map((id) => send(service.url, id)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    await primary.kill();
    await standby.promote();
    expect(await standby.rows('select count(*)::int as n from deliveries')).toEqual([{ n: sent.length }]);
  } finally {
    await service.stop();
  }
});

it('no delivery is acknowledged that a synchronous standby does not have', async () => {
  const service = await startTestService({ databaseUrl: primary.url, role: 'receiver' });
  try {
    await setSynchronous(primary, true);
    expect(await send(service.url, 1)).toBe(200);
    await standby.kill();
    const statuses = new Set<number>();
    const counts: number[] = [];
    const commits = new Set<string>();
    const waiting = `select xact_start::text as begun from pg_stat_activity
                     where application_name = 'receiver inbox' and wait_event = 'SyncRep'`;
    const sender = (async () => {
      for (let id = 2; commits.size < 4; id += 1) statuses.add(await send(service.url, id));
    })();
    await until(async () => {
      const rows = await primary.rows(waiting);
      for (const { begun } of rows) commits.add(begun as string);
      counts.push(rows.length);
      return commits.size >= 4;
    });
    await sender;
    expect([...statuses]).toEqual([503]);
    // Timed-out commits do not accumulate.
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
    await standby.restart();
    await until(async () => (await send(service.url, 4)) === 200);
  } finally {
    await service.stop();
  }
});
