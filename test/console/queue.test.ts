import { randomUUID } from 'node:crypto';
import type { JobsOptions } from 'bullmq';
import type { JobWorker } from '../../src/queue/backend.ts';
import { listLimit } from '../../src/queue/list-jobs.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { openQueue } from '../support/queue.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { adminToken, postForm, signInTo, type Visitor } from './visitor.ts';

describe.each(['redis', 'postgresql'])('with the queue on %s', (backend) => {
  let database: TestDatabase;
  let redis: Pick<TestRedis, 'url' | 'client' | 'stop'> | undefined;
  let service: Awaited<ReturnType<typeof startTestService>>;
  let visitor: Visitor;
  let opened: Awaited<ReturnType<typeof openQueue>>;
  const workers: JobWorker[] = [];

  beforeAll(async () => {
    redis = backend === 'redis' ? await openRedis() : undefined;
    await redis?.client().flushdb();
    database = await createDatabase();
    const stores = { databaseUrl: database.url, redisUrl: redis?.url };
    service = await startTestService({ ...stores, role: 'receiver', adminToken });
    visitor = await signInTo(service.url);
    opened = await openQueue(database, redis?.url);
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(true)));
    await opened.queue.bullmq().obliterate({ force: true });
    await opened.queue.bullmq().resume();
  });
  afterAll(async () => {
    await opened.close();
    await service.stop();
    await database.close();
    await redis?.stop();
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

  it('says how many jobs are in each state, and where', async () => {
    await add({ ids: [randomUUID()] });
    await add({ ids: [randomUUID()] }, { delay: 600_000 });
    expect(await visitor.read('/queue')).toContain(
      backend === 'redis' ? 'BullMQ on Redis' : 'BullMQ on PostgreSQL',
    );
    const counts = await Promise.all(['active', 'waiting', 'delayed', 'failed'].map(readCount));
    expect(counts).toEqual([0, 1, 1, 0]);
  });

  it('lists the newest hundred jobs of a state, with the way to their deliveries', async () => {
    const ids = Array.from({ length: listLimit + 1 }, () => randomUUID());
    for (const id of ids) await add({ ids: [id, randomUUID()] });
    const page = await visitor.read('/queue/waiting');
    expect(readIds(page)).toEqual(ids.slice(1).reverse());
    expect(page).toContain(`The newest ${listLimit} jobs.`);
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
    'shows nothing of a job but ids of deliveries: %j',
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
      const answer = await postForm(`${service.url}/console${path}`, { csrf }, { cookie: visitor.cookie });
      expect([path, answer.status]).toEqual([path, 404]);
    }
    expect(await visitor.read('/queue/waiting')).toBe(before);
  });

  it('knows no page of a state that is none', async () => {
    for (const state of ['board', 'wait', 'constructor']) {
      expect((await visitor.get(`/queue/${state}`)).status).toBe(404);
    }
  });
});
