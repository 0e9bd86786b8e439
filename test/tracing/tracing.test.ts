import { readFileSync } from 'node:fs';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import type { Service } from '../../src/service/service.ts';
import { startTcpProxy } from '../chaos/tcp-proxy.ts';
import { consentFormCallback, paths, receiptCallback, reviewRequestCallback } from '../support/callbacks.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { type ExportedSpan, type OtlpReceiver, startOtlpReceiver } from '../support/otlp.ts';
import { openRedis } from '../support/redis.ts';
import { post, type ServiceOptions, testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const { database, start: startService } = useService({ per: 'test' });
let otlp: OtlpReceiver;
let service: Service & { url: string };
let lines: Record<string, unknown>[];
beforeEach(async () => {
  // Otherwise spans wait for five seconds.
  process.env.OTEL_BSP_SCHEDULE_DELAY = '100';
  otlp = await startOtlpReceiver();
});
afterEach(async () => {
  delete process.env.OTEL_BSP_SCHEDULE_DELAY;
  await otlp.close();
});

/** Starts a service that exports traces. */
async function start(ratio: number, options: ServiceOptions = {}, endpoint = otlp.url) {
  const headers = { authorization: 'Bearer CANARY-collector-key' };
  const resource = { 'deployment.environment.name': 'test' };
  const tracing = { endpoint, headers, resource, serviceName: 'webhook-receiver', ratio };
  const logged: typeof lines = [];
  lines = logged;
  const log = createLog('debug', { write: (line: string) => logged.push(JSON.parse(line)) });
  const started = await startService({ tracing, log, ...options });
  service = started;
  return started;
}

const applied = (count: number) =>
  until(async () => {
    const rows = await database.rows(`select count(*)::int as n from deliveries where status = 'applied'`);
    return rows[0]!.n === count;
  });

/** Stops the receiver, which exports what is left. */
async function exported(): Promise<ExportedSpan[]> {
  await service.stop();
  return otlp.spans();
}

const idOf = async (response: Response) => ((await response.json()) as { id: string }).id;
const receipt = (receipt_id: number) => receiptCallback({ data: { receipt_id } });

it.each(['redis', 'postgresql'])(
  'with the queue on %s, the trace of a delivery is its id, and has its request, and its commit and its job as children of that',
  async (backend) => {
    const redis = backend === 'redis' ? await openRedis() : undefined;
    const { url } = await start(1, { redisUrl: redis?.url });
    const id = await idOf(await post(url + paths.receipt, receipt(1)));
    await applied(1);
    const spans = await exported();
    await redis?.stop();
    const [row] = await database.rows(
      `select replace(delivery_id::text, '-', '') as trace_id from receipts where receipt_id = 1`,
    );
    const traceId = row!.trace_id as string;
    expect(spans.map((span) => [span.name, span.traceId, span.isError])).toEqual([
      ['commit', traceId, false],
      ['receive', traceId, false],
      ['apply', traceId, false],
    ]);
    const [commit, receive, apply] = spans as [ExportedSpan, ExportedSpan, ExportedSpan];
    for (const { links, parentSpanId } of [commit, apply]) {
      expect(parentSpanId).toBe(receive.spanId);
      expect(links).toEqual([]);
    }
    expect(receive.parentSpanId).toBeFalsy();
    expect(receive.attributes).toEqual({
      'receiver.family': 'receipt',
      'receiver.event': 'receipt.created',
      'receiver.delivery.id': id,
      'receiver.result': 'accepted',
      'http.request.method': 'POST',
      'http.route': paths.receipt,
      'http.response.status_code': 200,
    });
    expect(commit.attributes).toMatchObject({
      'receiver.store': 'postgresql',
      'db.system.name': 'postgresql',
      'receiver.deliveries': 1,
    });
    expect(apply.attributes).toMatchObject({ 'receiver.queue': backend, 'receiver.applied': 1 });
    expect(receive.resource).toMatchObject({
      'service.name': 'webhook-receiver',
      'deployment.environment.name': 'test',
      'service.version': JSON.parse(readFileSync('package.json', 'utf8')).version,
      'service.instance.id': expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4/),
    });
    expect(new Set(spans.map(({ resource }) => resource['service.instance.id'])).size).toBe(1);
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'callback received', delivery: id, trace_id: traceId }),
    );
  },
);

it('a resend is a further request in the trace of its delivery', async () => {
  const { url } = await start(1);
  for (const result of ['accepted', 'duplicate']) {
    expect(await (await post(url + paths.receipt, receipt(1))).json()).toMatchObject({ status: result });
  }
  const requests = (await exported()).filter(({ name }) => name === 'receive');
  expect(requests.map(({ attributes }) => attributes['receiver.result'])).toEqual(['accepted', 'duplicate']);
  expect(new Set(requests.map(({ traceId }) => traceId)).size).toBe(1);
  expect(new Set(requests.map(({ spanId }) => spanId)).size).toBe(2);
});

it('deliveries of one commit have a trace each, whose commits link to the first', async () => {
  const { url } = await start(1);
  const ids = await Promise.all(
    Array.from({ length: 20 }, async (_, id) => idOf(await post(url + paths.receipt, receipt(id)))),
  );
  await applied(20);
  const spans = await exported();
  for (const id of ids) {
    const trace = spans.filter(({ traceId }) => traceId === id.replaceAll('-', ''));
    expect(trace.map(({ name }) => name).toSorted()).toEqual(['apply', 'commit', 'receive']);
    const request = trace.find(({ name }) => name === 'receive')!;
    for (const { name, links, parentSpanId } of trace.filter((span) => span !== request)) {
      const others = spans.filter((span) => span.name === name);
      expect(parentSpanId).toBe(request.spanId);
      for (const link of links) expect(others.map(({ spanId }) => spanId)).toContain(link.spanId);
    }
  }
  const heads = spans.filter(({ name, links }) => name === 'commit' && links.length === 0);
  const sizes = heads.map(({ attributes }) => attributes['receiver.deliveries'] as number);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20);
});

it('at ratio 0 only errors are exported: a failed delivery, a failed commit, a request that got a 503', async () => {
  const proxy = await startTcpProxy(Number(new URL(database.url).port));
  const throughProxy = Object.assign(new URL(database.url), { port: String(proxy.port) }).href;
  const { url } = await start(0, { databaseUrl: throughProxy });
  await database.pool.query('alter table receipts add constraint refused check (receipt_id <> 666)');
  const refused = `check (envelope #>> '{data,clinic_id}' <> 'refused')`;
  await database.pool.query(`alter table inbox add constraint refused ${refused}`);
  expect((await post(url + paths.receipt, receipt(1))).status).toBe(200);
  expect((await post(url + paths.receipt, '{')).status).toBe(400);
  const failed = await idOf(await post(url + paths.receipt, receipt(666)));
  await until(
    async () => (await database.rows(`select 1 from deliveries where status = 'failed'`)).length === 1,
  );
  expect(
    (await post(url + paths.review_request, reviewRequestCallback({ data: { clinic_id: 'refused' } })))
      .status,
  ).toBe(422);
  proxy.cut();
  expect((await post(url + paths.consent_form, consentFormCallback())).status).toBe(503);
  await proxy.restore();
  const next = await until(async () => {
    const response = await post(url + paths.consent_form, consentFormCallback());
    return response.status === 200 ? idOf(response) : undefined;
  });
  await applied(2);
  const spans = await exported();
  await proxy.stop();
  expect(spans.every(({ isError, links }) => isError && links.length === 0)).toBe(true);
  const of = (name: string) => spans.filter((span) => span.name === name);
  // A job that the outage delayed may have been retried.
  const jobs = of('apply').filter(({ attributes }) => attributes['receiver.retries'] === 0);
  expect(jobs.map(({ traceId }) => traceId)).toEqual([failed.replaceAll('-', '')]);
  expect(of('commit')[0]!.attributes).toMatchObject({ 'error.type': '23514' });
  // The trace of the attempt that was accepted.
  expect(new Set(of('receive').map(({ traceId }) => traceId))).toEqual(new Set([next.replaceAll('-', '')]));
  expect(of('receive')[0]!.attributes).toMatchObject({
    'http.response.status_code': 503,
    'error.type': 'Unavailable',
  });
});

it("a sender's traceparent is a link, not the parent; its flag does not decide, and a malformed one is ignored", async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const spanId = 'b7ad6b7169203331';
  const { url } = await start(1);
  const send = (id: number, traceparent: string) =>
    post(url + paths.receipt, receipt(id), { traceparent, tracestate: 'a=CANARY', baggage: 'a=CANARY' });
  expect((await send(1, `00-${traceId}-${spanId}-00`)).status).toBe(200);
  expect((await send(2, 'CANARY')).status).toBe(200);
  const [linked, unlinked] = (await exported()).filter(({ name }) => name === 'receive');
  expect(linked!.traceId).not.toBe(traceId);
  expect(linked!.parentSpanId).toBeUndefined();
  expect(linked!.links).toMatchObject([{ traceId, spanId }]);
  expect(unlinked!.links).toEqual([]);
  expect(otlp.received()).not.toContain('CANARY');

  const count = otlp.spans().length;
  await start(0);
  expect(
    (await post(service.url + paths.receipt, receipt(3), { traceparent: `00-${traceId}-${spanId}-01` }))
      .status,
  ).toBe(200);
  expect(await exported()).toHaveLength(count);
});

it('no content of a callback, no secret path and no key is in a span or in the log', async () => {
  const secret = '/in/7f3a9c1be25d48f06a7b3c9d1e5f8a24';
  const base = testConfig({});
  const { url } = await start(1, {
    paths: { ...base.paths, receipt: [secret, paths.receipt] },
    adminToken: 'CANARY-admin-token',
  });
  for (const family of families) {
    const path = family.name === 'receipt' ? secret : paths[family.name as keyof typeof paths];
    const callback = canaryOf(family);
    expect((await post(url + path, callback)).status).toBe(200);
    await post(`${url}${path}?${canary}=${canary}`, {
      ...callback,
      event: `${canary}.created`,
      business_id: canary,
    });
    await post(url + path, { ...callback, data: canary });
  }
  await post(`${url}${paths.receipt}`, `{"${canary}": ${canary}`);
  await until(async () => (await database.rows('select 1 from pending_deliveries')).length === 0);
  const spans = await exported();
  expect(spans.length).toBeGreaterThan(3 * families.length);
  expect(spans.map(({ attributes }) => attributes['http.route'])).toContain('/in/…');
  expect(otlp.headers()[0]!.authorization).toBe('Bearer CANARY-collector-key');
  for (const text of [otlp.received(), JSON.stringify(lines)]) {
    expect(text).not.toContain(canary);
    expect(text).not.toContain(secret.slice(4));
  }
});

/** Sends new receipts until the collector has had so many requests. */
async function sendUntil(url: string, requests: number): Promise<void> {
  for (let id = 0; otlp.requests() < requests; id += 50) {
    const responses = Array.from({ length: 50 }, (_, n) => post(url + paths.receipt, receipt(id + n)));
    for (const response of await Promise.all(responses)) expect(response.status).toBe(200);
  }
}

it('a collector that does not respond delays neither callbacks nor the stop', async () => {
  otlp.respondWith(undefined);
  const { url } = await start(1);
  await sendUntil(url, 1);
  const { status } = await post(url + paths.receipt, receipt(-1));
  expect(status).toBe(200);
  await exported();
  expect(otlp.spans()).toEqual([]);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'the last traces were not exported' }));
});

it('a collector that rejects is one line of the log when that begins, and one when it ends', async () => {
  otlp.respondWith(400);
  const { url } = await start(1);
  const about = () =>
    lines.filter(({ level, msg }) => (level as number) >= 30 && String(msg).startsWith('traces'));
  await sendUntil(url, 2);
  await until(() => about().length > 0);
  otlp.respondWith(200);
  await sendUntil(url, 4);
  await until(() => about().length > 1);
  expect(about().map(({ msg }) => msg)).toEqual(['traces cannot be exported', 'traces are exported again']);
});
