import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../src/sandbox/random.ts';
import { until } from '../support/until.ts';
import { type Backend, type Deployment, startDeployment } from './deployment.ts';
import { drawBackends, minutes, seed } from './drawn.ts';
import { type Fault, faults } from './faults.ts';
import { createHistories, pagesInTables } from './histories.ts';

jest.setTimeout(600_000 + minutes * 60_000);

const frozenMs = 12_000;

/** Faults of merges, besides those of processes, stores and links. */
const ofMerges: Fault[] = [
  {
    name: 'worker frozen in the middle of merges',
    backends: ['redis', 'postgresql'],
    inject: async (deployment) => {
      const { child } = deployment.processOf('worker');
      child.kill('SIGSTOP');
      await pause(frozenMs);
      child.kill('SIGCONT');
    },
  },
  {
    name: 'sessions of merges ended',
    backends: ['redis', 'postgresql'],
    inject: async ({ rows }, random) => {
      for (let n = 0; n < 10; n += 1) {
        await pause(random.between(50, 300));
        await rows(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'receiver worker'`,
        );
      }
    },
  },
  {
    name: 'a column dropped for 3 s',
    backends: ['redis', 'postgresql'],
    inject: async ({ rows }) => {
      await rows('alter table receipts rename column mobile to other');
      await pause(3_000);
      await rows('alter table receipts rename column other to mobile');
    },
  },
];
const all = [...faults, ...ofMerges];

describe.each<Backend>(drawBackends('crashes'))(`on %s (seed ${seed})`, (backend) => {
  let deployment: Deployment;
  const usable = all.filter(({ backends }) => backends.includes(backend));
  const random = seededRandom(seed, backend.length);
  const histories = createHistories(random);
  beforeAll(async () => {
    deployment = await startDeployment(backend);
    await deployment.start('another worker');
  });
  afterAll(() => deployment.stop());

  const seconds = minutes > 0 ? (minutes * 60) / 2 / usable.length : 3;
  const chosen = minutes > 0 ? usable : usable.filter(() => random.between(0, 2) === 0);

  it.each(chosen)(
    '$name: each row is the merge of all callbacks, each of which is there once',
    async (fault) => {
      const load = startLoad();
      for (const end = Date.now() + seconds * 1000; ; ) {
        await pause(random.between(200, 2_000));
        await fault.inject(deployment, random);
        if (Date.now() >= end) break;
      }
      expect(await load.stop()).toEqual({ blamed: [] });
      const left = async () => {
        const [row] = await deployment
          .rows(
            `select count(*) filter (where status <> 'applied')::int as left, count(*)::int as all from deliveries`,
          )
          .catch(() => [{ left: -1, all: 0 }]);
        return row as { left: number; all: number };
      };
      await until(
        async () => {
          const { left: n, all: count } = await left();
          return n === 0 && count === histories.count();
        },
        180_000,
        500,
      );
      const rows = await deployment.rows(pagesInTables);
      const found = new Map(rows.map(({ key, page }) => [key as string, page]));
      const expected = histories.pages();
      const wrong = [...expected].filter(([key, page]) => !isEqual(page, found.get(key)));
      expect(wrong.slice(0, 3).map(([key, page]) => [key, page, found.get(key)])).toEqual([]);
      expect(found.size).toBe(expected.size);
    },
  );

  /** Sends callbacks until it is stopped; each until it is acknowledged. */
  function startLoad() {
    let isSending = true;
    const blamed: number[] = [];
    const queue = histories.next();
    const send = async () => {
      for (;;) {
        if (queue.length === 0) {
          if (!isSending) return;
          queue.push(...histories.next());
        }
        const { path, body } = queue.pop()!;
        for (;;) {
          const headers = { 'Content-Type': 'application/json' };
          const response = await fetch(deployment.url + path, {
            ...{ method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) },
          }).catch(() => undefined);
          if (response && response.status >= 400 && response.status < 500) blamed.push(response.status);
          if (response?.status === 200) break;
          await pause(100);
        }
        await pause(minutes > 0 ? 20 : 50);
      }
    };
    const sending = Promise.all(Array.from({ length: 16 }, send));
    return {
      stop: async () => {
        isSending = false;
        await sending;
        return { blamed };
      },
    };
  }
});

function isEqual(page: Record<string, unknown>, found: unknown): boolean {
  const names = Object.keys(page);
  return names.every((name) => page[name] === (found as Record<string, unknown> | undefined)?.[name]);
}
