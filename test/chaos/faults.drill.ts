import { setTimeout as pause } from 'node:timers/promises';
import { identify } from '../../src/intake/identity.ts';
import { type CallbacksOptions, callbacks } from '../../src/sandbox/callbacks.ts';
import type { Callback } from '../../src/sandbox/history.ts';
import type { Attempt } from '../../src/sandbox/post.ts';
import { removeAt, seededRandom } from '../../src/sandbox/random.ts';
import { sendCallbacks } from '../../src/sandbox/sender.ts';
import { registeredUrls } from '../../src/sandbox/urls.ts';
import { until } from '../support/until.ts';
import { type Backend, type Deployment, startDeployment } from './deployment.ts';
import { minutes, seed } from './drawn.ts';
import { type Fault, faults } from './faults.ts';
import { newestVersions, versionsInTables } from './model.ts';
import { countRepeatedWrites, noteWrites } from './repeated-writes.ts';

jest.setTimeout(300_000 + minutes * 60_000);

/** Half a dozen, drawn from the seed; all of them, again and again, in a long run. */
function choose(backend: Backend): Fault[] {
  const usable = faults.filter(({ backends }) => backends.includes(backend));
  if (minutes > 0) return usable;
  const random = seededRandom(seed, backend.length);
  return Array.from({ length: 6 }, () => removeAt(usable, random.between(0, usable.length - 1)));
}

describe.each<Backend>(['redis', 'postgresql'])(`on %s (seed ${seed})`, (backend) => {
  const chosen = choose(backend);
  const seconds = minutes > 0 ? (minutes * 60) / chosen.length : 3;
  let deployment: Deployment;
  let runs = 0;
  beforeAll(async () => {
    deployment = await startDeployment(backend);
    await noteWrites(deployment.rows);
  });
  afterAll(() => deployment.stop());

  it.each(chosen)(
    '$name: no acknowledged delivery is lost or applied twice, each row is the newest version, and no good callback is blamed',
    async (fault) => {
      runs += 1;
      const before = await counts(deployment);
      const load = startLoad(deployment, { seed: seed + runs * 1_000, duplicates: 0.05, shuffle: true });
      const random = seededRandom(seed, runs);
      for (const end = Date.now() + seconds * 1000; ; ) {
        await pause(random.between(200, 2_000));
        await fault.inject(deployment, random);
        if (Date.now() >= end) break;
      }
      const sent = await load.stop();
      const acknowledged = [...sent.values()].filter((one) => one.acknowledged);
      expect(acknowledged.length).toBeGreaterThan(50);
      expect(load.blamed).toEqual([]);

      const ids = new Map([...sent.values()].map((one) => [identify(one.callback.envelope as never), one]));
      const isApplied = async () => {
        const rows = await deployment
          .rows(`select id from deliveries where status = 'applied'`)
          .catch(() => []);
        const applied = new Set(rows.map(({ id }) => id));
        return [...ids].every(([id, one]) => !one.acknowledged || applied.has(id));
      };
      await until(isApplied, 120_000, 250);
      await until(async () => (await counts(deployment)).waiting === 0, 60_000, 250);

      // What was not acknowledged may be stored nevertheless, and then counts.
      const stored = new Set(
        (await deployment.rows('select id from deliveries')).map(({ id }) => id as string),
      );
      const expected = newestVersions(
        [...ids].filter(([id]) => stored.has(id)).map(([, one]) => one.callback),
      );
      const rows = await deployment.rows(versionsInTables);
      const found = new Map(rows.map(({ key, id }) => [key as string, id as string]));
      expect([...expected].filter(([key, id]) => found.get(key) !== id)).toEqual([]);
      const after = await counts(deployment);
      expect(after).toMatchObject({ failed: 0, repeated: before.repeated });
      expect(after.all - before.all).toBeLessThanOrEqual(ids.size);
    },
  );
});

interface Sent {
  callback: Callback;
  acknowledged: boolean;
}

/** Sends callbacks until it is stopped, then resends what was not acknowledged. */
function startLoad({ url }: Deployment, content: CallbacksOptions) {
  let isSending = true;
  const sent = new Map<string, Sent>();
  /** 4xx: all callbacks are good. */
  const blamed: number[] = [];
  function* whileSending() {
    for (const callback of callbacks(content)) {
      if (!isSending) return;
      yield callback;
    }
  }
  const sending = sendCallbacks(whileSending(), {
    ...{ urlOf: registeredUrls(url), connections: 128, timeoutMs: 5_000, rate: minutes > 0 ? 400 : 150 },
    resendOnFailure: true,
    onAttempt: ({ callback, acknowledged, status }: Attempt) => {
      if (status !== undefined && status >= 400 && status < 500) blamed.push(status);
      const known = sent.get(callback.body);
      sent.set(callback.body, { callback, acknowledged: acknowledged || known?.acknowledged === true });
    },
  });
  return {
    blamed,
    stop: async () => {
      isSending = false;
      await sending;
      return sent;
    },
  };
}

async function counts({ rows }: Deployment) {
  const [row] = await rows(`
    select count(*)::int as all, count(*) filter (where status = 'received')::int as waiting,
           count(*) filter (where status = 'failed')::int as failed from deliveries`);
  return {
    ...(row as { all: number; waiting: number; failed: number }),
    repeated: await countRepeatedWrites(rows),
  };
}
