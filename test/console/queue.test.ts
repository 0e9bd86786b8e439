import { describeJob } from '../../src/console/queue/board.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { openQueue } from '../support/queue.ts';
import { openRedis, type TestRedis } from '../support/redis.ts';
import { useConsole } from './use-console.ts';
import { postForm } from './visitor.ts';

describe.each(['redis', 'postgresql'])('with the queue on %s', (backend) => {
  let redis: Pick<TestRedis, 'url' | 'client' | 'stop'> | undefined;
  let name: string;
  const delivery = deliveryOf(receiptCallback({ data: { name: 'CANARY' } }));
  const { database, service, visitor } = useConsole({
    prepare: async () => {
      redis = backend === 'redis' ? await openRedis() : undefined;
      await redis?.client().flushdb();
      return { redisUrl: redis?.url };
    },
  });
  beforeAll(async () => {
    const { queue, close } = await openQueue(database, redis?.url);
    await queue.enqueue([delivery.id]);
    name = queue.opened().name;
    await close();
  });
  afterAll(() => redis?.stop());

  it('says how many jobs there are, and where', async () => {
    const page = await visitor.read('/queue');
    expect(page).toContain(backend === 'redis' ? 'BullMQ on Redis' : 'BullMQ on PostgreSQL');
    expect(page).toMatch(/<td>waiting<\/td><td class="number">1<\/td>/);
  });

  it('the board shows jobs without what their deliveries say', async () => {
    const answer = await visitor.get(`/queue/board/api/queues?activeQueue=${name}&status=waiting&page=1`);
    const text = await answer.text();
    const { queues } = JSON.parse(text) as { queues: { jobs: { name: string; data: unknown }[] }[] };
    const { jobs } = queues[0]!;
    expect(jobs.map(({ name, data }) => ({ name, data }))).toEqual([
      { name: 'apply', data: { ids: [delivery.id] } },
    ]);
    const one = await visitor.read(
      `/queue/board/api/queues/${name}/${(queues[0] as { jobs: { id?: string }[] }).jobs[0]!.id}`,
    );
    expect(text + one).not.toContain('CANARY');
  });

  it('the board’s page asks no other host, and may not', async () => {
    const answer = await visitor.get('/queue/board');
    const policy = answer.headers.get('content-security-policy')!;
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).not.toMatch(/https?:|\*/);
    expect(await answer.text()).not.toMatch(/(href|src)="https?:/);
  });

  it('the board can change nothing, not even with the session’s token', async () => {
    const csrf = /name="csrf" value="([^"]+)"/.exec(await visitor.read('/queue'))![1]!;
    const board = `${service.url}/console/queue/board/api/queues`;
    const before = await visitor.read('/queue');
    for (const path of [
      '/pause',
      `/${name}/pause`,
      `/${name}/empty`,
      `/${name}/obliterate`,
      `/${name}/add`,
    ]) {
      const answer = await postForm(board + path, { csrf }, { cookie: visitor.cookie });
      expect([path, answer.status]).toEqual([path, 404]);
      const put = await fetch(board + path, { method: 'PUT', headers: { cookie: visitor.cookie } });
      expect([path, put.status]).toEqual([path, 403]);
    }
    expect(await visitor.read('/queue')).toBe(before);
  });
});

it('a job of a kind that is not known is shown without its data', () => {
  expect(describeJob({ anything: 'CANARY' })).toEqual({});
  expect(describeJob(undefined)).toEqual({});
});
