import { callbacks } from '../../src/sandbox/callbacks.ts';
import { sendCallbacks } from '../../src/sandbox/sender.ts';
import { registeredUrls } from '../../src/sandbox/urls.ts';
import { consentFormCallback, deliveryOf, paths, receiptCallback } from '../support/callbacks.ts';
import { contentsOf, openRedis, type TestRedis } from '../support/redis.ts';
import { post, type ServiceOptions, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

describe.each(['redis', 'postgresql'])('with the queue on %s', (backend) => {
  const { database, start: startService } = useService({ per: 'test' });
  let redis: Pick<TestRedis, 'url' | 'client' | 'stop'> | undefined;
  beforeAll(async () => {
    redis = backend === 'redis' ? await openRedis() : undefined;
  });
  afterAll(() => redis?.stop());
  beforeEach(() => redis?.client().flushdb());

  const start = (options: ServiceOptions = {}) => startService({ redisUrl: redis?.url, ...options });

  const wipeQueue = async () => {
    if (redis) return redis.client().flushdb();
    // The queue uses both tables concurrently, so this may deadlock.
    const truncate = () => database.pool.query('truncate bullmq.job, bullmq.scheduler cascade');
    return until(() =>
      truncate().catch((error) => (error.code === '40P01' ? undefined : Promise.reject(error))),
    );
  };

  const allApplied = (count: number) =>
    until(async () => {
      const rows = await database.rows(`select count(*)::int as n from deliveries where status = 'applied'`);
      return rows[0]!.n === count;
    });

  it('a receipt becomes a row, and its resend changes only the count', async () => {
    const { url } = await start();
    const { id } = deliveryOf(receiptCallback());
    const first = await post(url + paths.receipt, receiptCallback());
    expect([first.status, await first.json()]).toEqual([200, { status: 'accepted', id }]);
    await allApplied(1);
    const before = await database.rows('select * from receipts');
    expect(before).toMatchObject([{ receipt_id: '4711', net_amount: '490.05' }]);

    const again = await post(url + paths.receipt, { ...receiptCallback(), timestamp: 1_700_009_999 });
    expect(await again.json()).toEqual({ status: 'duplicate', id });
    expect(await database.rows('select * from receipts')).toEqual(before);
    expect(await database.rows('select status, delivery_count from deliveries')).toEqual([
      { status: 'applied', delivery_count: 2 },
    ]);
  });

  it('two receivers and two workers apply everything exactly once', async () => {
    const receivers = [await start({ role: 'receiver' }), await start({ role: 'receiver' })];
    await start({ role: 'worker' });
    await start({ role: 'worker' });
    const sent = [...callbacks({ seed: 7, count: 600, duplicates: 0.2, shuffle: true })];
    const halves = [sent.filter((_, index) => index % 2 === 0), sent.filter((_, index) => index % 2 === 1)];
    const summaries = await Promise.all(
      halves.map((half, index) =>
        sendCallbacks(half, {
          urlOf: registeredUrls(receivers[index]!.url),
          connections: 16,
          resendOnFailure: true,
        }),
      ),
    );
    expect(summaries.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBe(600);
    const distinct = new Set(sent.map(({ body }) => deliveryOf(JSON.parse(body)).id)).size;
    await allApplied(distinct);
    // A commit that timed out may be counted twice, and is resent: none is counted less.
    const [counted] = await database.rows('select sum(delivery_count)::int as n from deliveries');
    expect(counted!.n).toBeGreaterThanOrEqual(600);
  });

  it('an invalid callback among concurrent valid ones gets its own error and affects none', async () => {
    const { url } = await start();
    const bodies = Array.from({ length: 100 }, (_, receipt_id) => receiptCallback({ data: { receipt_id } }));
    const invalid = [33, 66];
    const responses = await Promise.all(
      bodies.map((body, index) =>
        post(url + paths.receipt, invalid.includes(index) ? { ...body, client_id: 5 } : body),
      ),
    );
    for (const [index, response] of responses.entries()) {
      expect(response.status).toBe(invalid.includes(index) ? 422 : 200);
    }
    expect(await responses[33]!.json()).toMatchObject({ errors: [{ path: '/client_id' }] });
    await allApplied(98);
  });

  it('the sweep finds a delivery without a job, and it is applied', async () => {
    const receiver = await start({ role: 'receiver' });
    await post(receiver.url + paths.consent_form, consentFormCallback());
    if (redis) await redis.client().flushdb();
    else await database.pool.query('truncate bullmq.job cascade');
    await start({ role: 'worker', sweep: { everyMs: 100, olderThanMs: 0 } });
    await allApplied(1);
  });

  it('the sweep’s schedule is restored after the queue was wiped', async () => {
    const sweep = { everyMs: 100, olderThanMs: 0 };
    await start({ role: 'worker', sweep });
    const receiver = await start({ role: 'receiver' });
    await wipeQueue();
    await post(receiver.url + paths.receipt, receiptCallback());
    await wipeQueue();
    await allApplied(1);
  });

  it('a broken table delays a job without using up its attempts, and all deliveries are applied afterwards', async () => {
    const { url } = await start({ sweep: { everyMs: 100, olderThanMs: 0 } });
    await database.pool.query('alter table receipts rename to receipts_elsewhere');
    for (let receipt_id = 0; receipt_id < 5; receipt_id += 1) {
      expect((await post(url + paths.receipt, receiptCallback({ data: { receipt_id } }))).status).toBe(200);
    }
    await post(url + paths.consent_form, consentFormCallback());
    await allApplied(1);
    await database.pool.query('alter table receipts_elsewhere rename to receipts');
    await allApplied(6);
    expect(await database.rows(`select 1 from deliveries where status = 'failed'`)).toEqual([]);
  });

  it('the queue contains ids and no content of a delivery', async () => {
    const receiver = await start({ role: 'receiver' });
    const callback = receiptCallback({ data: { name: 'CANARY', mobile: 'CANARY' } });
    await post(receiver.url + paths.receipt, callback);
    const { id } = deliveryOf(callback);
    const contents = async () =>
      redis ? contentsOf(redis.client()) : JSON.stringify(await database.rows('select * from bullmq.job'));
    await until(async () => (await contents()).includes(id));
    expect(await contents()).not.toContain('CANARY');
    expect(await contents()).not.toContain(callback.data.receipt_url);
  });

  it('a wrong host or database name ends the start, even with a fallback store', async () => {
    const wrong = (change: Partial<URL>) =>
      start({ databaseUrl: Object.assign(new URL(database.url), change).href });
    await expect(wrong({ pathname: '/nowhere' })).rejects.toThrow(
      'DATABASE_URL: there is no database nowhere',
    );
    await expect(wrong({ hostname: 'nowhere.invalid' })).rejects.toThrow('DATABASE_URL: ');
  });

  it('/healthz and /readyz report a healthy service', async () => {
    const { url } = await start();
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([200, { parts: { database: { ok: true } } }]);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('a stop completes the requests in progress: acknowledged deliveries, and no others, are stored', async () => {
    const service = await start();
    const bodies = Array.from({ length: 200 }, (_, receipt_id) => receiptCallback({ data: { receipt_id } }));
    const responses = bodies.map((body) =>
      post(service.url + paths.receipt, body).then(({ status }) => status),
    );
    await Promise.race(responses);
    await service.stop();
    const statuses = await Promise.allSettled(responses);
    const acknowledged = statuses.filter((s) => s.status === 'fulfilled' && s.value === 200).length;
    const [row] = await database.rows('select count(*)::int as n from deliveries');
    expect(row!.n).toBe(acknowledged);
  });
});
