import { randomUUID } from 'node:crypto';
import type { JobsOptions } from 'bullmq';
import type { JobWorker } from '../../src/queue/backend.ts';
import { listLimit } from '../../src/queue/list-jobs.ts';
import { openQueue } from '../support/queue.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { useConsole } from './use-console.ts';
import { postForm } from './visitor.ts';

let redis: Pick<TestRedis, 'url' | 'client' | 'stop'>;
beforeAll(async () => {
  redis = await openRedis();
  await redis.client().flushdb();
});
afterAll(() => redis.stop());

describe.each(['redis', 'postgresql'])('with the queue on %s', (backend) => {
  const redisUrl = () => (backend === 'redis' ? redis.url : undefined);
  let opened: Awaited<ReturnType<typeof openQueue>>;
  const workers: JobWorker[] = [];

  afterAll(() => opened.close());
  const { database, service, visitor } = useConsole({
    prepare: async () => ({ redisUrl: redisUrl() }),
  });
  beforeAll(async () => {
    opened = await openQueue(database, redisUrl());
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(true)));
    await opened.queue.bullmq().obliterate({ force: true });
    await opened.queue.bullmq().resume();
  });

  const add = async (data: object, options?: JobsOptions) =>
    opened.queue.bullmq().add('apply', data as { ids: string[] }, options);
  const work = async (process: () => Promise<void>) => {
    const worker = await opened.backend.openWorker(process, {}, new AbortController().signal);
    worker.on('error', () => {});
    worker.run().catch(() => {});
    workers.push(worker);
  };
  const readCount = async (state: string) =>
    Number(
      new RegExp(`<a href="/console/queue/${state}">${state}</a></td><td class="number">(\\d+)<`).exec(
        await visitor.read('/queue'),
      )?.[1],
    );
  const readIds = (page: string) =>
    Array.from(page.matchAll(/href="\/console\/deliveries\/([^"]+)"/g), ([, id]) => id);

  it('shows the number of jobs in each state, and the queue’s store', async () => {
    await add({ ids: [randomUUID()] });
    await add({ ids: [randomUUID()] }, { delay: 600_000 });
    expect(await visitor.read('/queue')).toContain(
      backend === 'redis' ? 'BullMQ on Redis' : 'BullMQ on PostgreSQL',
    );
    const counts = await Promise.all(['active', 'waiting', 'delayed', 'failed'].map(readCount));
    expect(counts).toEqual([0, 1, 1, 0]);
  });

  it('lists the newest hundred jobs of a state, with links to their deliveries', async () => {
    const ids = Array.from({ length: listLimit + 1 }, () => randomUUID());
    for (const id of ids) await add({ ids: [id, randomUUID()] });
    const page = await visitor.read('/queue/waiting');
    expect(readIds(page)).toEqual(ids.slice(1).reverse());
    expect(page).toContain(`Only the newest ${listLimit} jobs are shown.`);
    expect(page).toMatch(/<td class="number">0<\/td><td class="number">2<\/td>/);
  });

  it.each([
    ['active', {}, () => new Promise<void>(() => {}), 1],
    ['delayed', { delay: 600_000 }, undefined, 0],
    ['failed', { removeOnFail: false }, () => Promise.reject(new Error('CANARY')), 1],
  ] as const)(
    'lists the jobs that are %s, without their errors',
    async (state, options, process, attempts) => {
      const id = randomUUID();
      const { timestamp } = await add({ ids: [id] }, options);
      if (process) await work(process);
      await until(async () => (await readCount(state)) === 1);
      const page = await visitor.read(`/queue/${state}`);
      expect(readIds(page)).toEqual([id]);
      expect(page).toContain(`datetime="${new Date(timestamp).toISOString()}"`);
      expect(page).toContain(`<td class="number">${attempts}</td><td class="number">1</td>`);
      expect(page).not.toContain('CANARY');
    },
  );

  it.each([{ ids: ['CANARY'] }, { ids: 'CANARY' }, { anything: 'CANARY' }])(
    'shows nothing of a job but delivery ids: %j',
    async (data) => {
      await add(data);
      const page = await visitor.read('/queue/waiting');
      expect(page).toMatch(/<td class="number">0<\/td><td class="number">0<\/td>/);
      expect(page).not.toContain('CANARY');
    },
  );

  it('can change nothing, not even with the session’s token', async () => {
    await add({ ids: [randomUUID()] });
    const before = await visitor.read('/queue/waiting');
    const csrf = /name="csrf" value="([^"]+)"/.exec(before)![1]!;
    for (const path of ['/queue', '/queue/waiting', '/queue/waiting/1']) {
      const response = await postForm(`${service.url}/console${path}`, { csrf }, { cookie: visitor.cookie });
      expect([path, response.status]).toEqual([path, 404]);
    }
    expect(await visitor.read('/queue/waiting')).toBe(before);
  });

  it('responds with 404 to an unknown state', async () => {
    for (const state of ['board', 'wait', 'constructor']) {
      expect((await visitor.get(`/queue/${state}`)).status).toBe(404);
    }
  });
});
