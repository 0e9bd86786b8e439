import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { sendCallbacks } from '../../src/sandbox/sender.ts';
import { registeredUrls } from '../../src/sandbox/urls.ts';
import { callbacks } from '../../src/sandbox/variations.ts';
import { until } from '../support/until.ts';
import { type Deployment, startDeployment } from './deployment.ts';

// `npm run chaos:backlog -- --count 1000000` for a million; here enough for the queue to reach its limit.
const count = Number(process.env.CHAOS_COUNT ?? 3_000);
const verbose = process.env.CHAOS_COUNT !== undefined;

jest.setTimeout(300_000 + count * 2);

let deployment: Deployment;
afterAll(() => deployment.stop());

const print = (sample: object) => verbose && process.stderr.write(`${JSON.stringify(sample)}\n`);

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

it(`${count} deliveries accumulate in constant memory, and are all applied once the worker runs again`, async () => {
  deployment = await startDeployment('redis');
  expect(await deployment.processOf('worker').end('SIGTERM')).toBe(0);
  const redis = deployment.redis!.client();
  const sample = async (done: number) => {
    const info = await redis.info('memory');
    const redisMiB = Number(/used_memory:(\d+)/.exec(info)![1]) / 1024 ** 2;
    const jobs = await redis.llen('{receiver}:deliveries:wait');
    return { done, receiverMiB: residentMiB(deployment.processOf('receiver').child.pid!), redisMiB, jobs };
  };
  const before = await sample(0);
  let acknowledged = 0;
  const sending = sendCallbacks(callbacks({ seed: 3, count }), {
    urlOf: registeredUrls(deployment.url),
    connections: 32,
    resendOnFailure: true,
    onAttempt: (attempt) => {
      if (attempt.acknowledged) acknowledged += 1;
    },
  });
  let sendingNow = true;
  const watching = (async () => {
    while (sendingNow) {
      print(await sample(acknowledged));
      await pause(verbose ? 10_000 : 100);
    }
  })();
  await sending;
  sendingNow = false;
  await watching;
  expect(acknowledged).toBe(count);
  const after = await sample(acknowledged);
  print({ before, after });
  // The queue stops growing at about 1,000 jobs, however many deliveries wait.
  expect(after.jobs).toBeLessThan(2_500);
  expect(after.redisMiB - before.redisMiB).toBeLessThan(100);
  expect(after.receiverMiB).toBeLessThan(300);

  await deployment.start('worker');
  const started = Date.now();
  let last = 0;
  await until(
    async () => {
      const rows = await deployment.rows(
        `select count(*)::int as n from deliveries where status = 'applied'`,
      );
      const n = rows[0]!.n as number;
      print({ seconds: Math.round((Date.now() - started) / 1000), applied: n, since: n - last });
      last = n;
      if (n < count && verbose) await pause(10_000);
      return n === count;
    },
    60_000 + count * 2,
  );
});
