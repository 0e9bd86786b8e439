import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../src/sandbox/random.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { closeLater } from '../support/close-later.ts';
import { spawnReceiver, spawnService } from '../support/process.ts';
import { startRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createHistories } from './histories.ts';
import { startLoad } from './load.ts';
import { startServerPair } from './server-pair.ts';

const minutes = Number(process.env.DRILL_MINUTES ?? 0);
const seed = Number(process.env.TEST_SEED);
jest.setTimeout(600_000 + minutes * 60_000);

it.each(['redis', 'postgresql'])(
  `on %s: a primary that is killed and replaced by its synchronous standby loses no acknowledged callback (seed ${seed})`,
  async (backend) => {
    const random = seededRandom(seed, backend.length);
    const histories = createHistories(random);
    const pair = await startServerPair();
    closeLater(pair.stop);
    const redis = backend === 'redis' ? await startRedis() : undefined;
    closeLater(async () => redis?.stop());
    const env = { DATABASE_URL: pair.url, ...(redis && { REDIS_URL: redis.url }) };
    const receiver = await spawnService({ ...env, ROLE: 'receiver' });
    const worker = await spawnService({ ...env, ROLE: 'worker' });
    closeLater(() => Promise.all([receiver, worker].map((one) => one.end('SIGTERM'))));
    await pair.rows(`create role reports login password 'reports' in role pg_read_all_data`);
    for (const end = Date.now() + (minutes / 2) * 60_000; ; ) {
      const load = startLoad(() => [receiver.url], histories, 20);
      await pause(random.between(500, 5_000));
      await expectReportsOnStandby(env.DATABASE_URL, pair.standbyUrl());
      const switchedMs = await pair.failOver();
      await pause(random.between(500, 5_000));
      const { blamed, longestMs } = await load.stop();
      process.stderr.write(
        `${backend}: ${histories.count()} callbacks; the switch took ${switchedMs} ms, the slowest callback ${longestMs} ms\n`,
      );
      expect(blamed).toEqual([]);
      await histories.expectMerged(pair.rows);
      if (Date.now() >= end) break;
      await pair.addStandby();
    }
  },
);

it('a primary that is replaced by a standby without its last commits: what was acknowledged and is gone is known', async () => {
  const pair = await startServerPair();
  closeLater(pair.stop);
  const receiver = await spawnService({ DATABASE_URL: pair.url });
  closeLater(() => receiver.end('SIGTERM'));
  const send = (ids: number[]) =>
    until(async () => {
      for (const receipt_id of ids) {
        const callback = receiptCallback({ data: { receipt_id } });
        if ((await post(receiver.url + paths.receipt, callback)).status !== 200) return false;
      }
      return true;
    });
  const [kept, gone] = [
    [1, 2, 3],
    [4, 5, 6, 7],
  ];
  await send(kept);
  await pair.detachStandby();
  await send(gone);
  await pair.failOver();
  const lost = `select count::int from receiver.counters where name = 'lost'`;
  await until(async () => (await pair.rows(lost).catch(() => [])).length > 0, 180_000, 500);
  expect(await pair.rows(lost)).toEqual([{ count: gone.length }]);
  await send([...kept, ...gone]);
  const receipts = `select receipt_id::int as id from receipts order by 1`;
  await until(async () => (await pair.rows(receipts)).length === kept.length + gone.length);
});

async function expectReportsOnStandby(DATABASE_URL: string, standby: string): Promise<void> {
  const REPORT_DATABASE_URL = Object.assign(new URL(standby), {
    username: 'reports',
    password: 'reports',
  }).href;
  const env = { DATABASE_URL, REPORT_DATABASE_URL };
  const command = spawnReceiver(['sql', '--json', 'select pg_is_in_recovery() as standby'], env);
  expect([await command.end(), command.output()]).toEqual([0, '{"standby":"t"}\n']);
}
