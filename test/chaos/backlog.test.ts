import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { sendCallbacks } from '../../src/sandbox/sender.ts';
import { callbacks } from '../../src/sandbox/variations.ts';
import { paths } from '../support/callbacks.ts';
import { until } from '../support/until.ts';
import { type Stage, setStage } from './stage.ts';

// `npm run chaos:backlog -- --count 1000000` for the whole million; here as many as make the queue stop growing
// worth a look.
const count = Number(process.env.CHAOS_COUNT ?? 3_000);
const loud = process.env.CHAOS_COUNT !== undefined;

jest.setTimeout(120_000 + count * 2);

let stage: Stage;
afterAll(() => stage.stop());

const say = (sample: object) => loud && process.stderr.write(`${JSON.stringify(sample)}\n`);

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

it(`${count} deliveries pile up in flat memory, and are all applied once the worker is back`, async () => {
  stage = await setStage('redis');
  expect(await stage.processOf('worker').end('SIGTERM')).toBe(0);
  const redis = stage.redis!.client();
  const sample = async (done: number) => {
    const info = await redis.info('memory');
    const redisMiB = Number(/used_memory:(\d+)/.exec(info)![1]) / 1024 ** 2;
    const jobs = await redis.llen('{receiver}:deliveries:wait');
    return { done, receiverMiB: residentMiB(stage.processOf('receiver').child.pid!), redisMiB, jobs };
  };
  const before = await sample(0);
  const at = (path: string) => stage.url + path;
  let acknowledged = 0;
  const sending = sendCallbacks(callbacks({ seed: 3, count }), {
    urls: {
      receipt: at(paths.receipt),
      consent_form: at(paths.consent_form),
      review_request: at(paths.review_request),
    },
    connections: 32,
    resendOnFailure: true,
    onAttempt: (attempt) => {
      if (attempt.acknowledged) acknowledged += 1;
    },
  });
  let going = true;
  const watching = (async () => {
    while (going) {
      say(await sample(acknowledged));
      await pause(loud ? 10_000 : 100);
    }
  })();
  await sending;
  going = false;
  await watching;
  expect(acknowledged).toBe(count);
  const after = await sample(acknowledged);
  say({ before, after });
  // 1,000 jobs of ids and no more, however many deliveries wait.
  expect(after.jobs).toBeLessThan(2_500);
  expect(after.redisMiB - before.redisMiB).toBeLessThan(100);
  expect(after.receiverMiB).toBeLessThan(300);

  await stage.start('worker');
  const started = Date.now();
  let last = 0;
  await until(
    async () => {
      const rows = await stage.rows(`select count(*)::int as n from deliveries where status = 'applied'`);
      const n = rows[0]!.n as number;
      say({ seconds: Math.round((Date.now() - started) / 1000), applied: n, since: n - last });
      last = n;
      if (n < count && loud) await pause(10_000);
      return n === count;
    },
    60_000 + count * 2,
  );
});
