import { readFileSync } from 'node:fs';
import { createLog } from '../../src/common/log.ts';
import { registry } from '../../src/common/metrics.ts';
import type { Config } from '../../src/config/config.ts';
import { postForm } from '../console/visitor.ts';
import { consentFormCallback, paths, receiptCallback, registeredPaths } from '../support/callbacks.ts';
import { post, type ServiceOptions, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { adminToken, scrape, scrapeText } from './scraping.ts';

const { database, start: startService } = useService({ per: 'test' });
const start = (options: ServiceOptions = {}) => startService({ adminToken, metricsCacheMs: 0, ...options });
beforeEach(() => registry.resetMetrics());

const receipt = (receipt_id: number, data = {}) => receiptCallback({ data: { receipt_id, ...data } });

it('a scrape counts exactly what happened', async () => {
  const { url } = await start();
  const send = (body: unknown) => post(url + paths.receipt, body);
  for (const id of [1, 2, 3, 3]) expect((await send(receipt(id))).status).toBe(200);
  await post(url + paths.consent_form, consentFormCallback());
  expect((await send('{')).status).toBe(400);
  expect((await send({ ...receipt(4), client_id: 5 })).status).toBe(422);
  expect((await send({ ...receipt(5), client_id: 5 })).status).toBe(422);
  expect((await send(consentFormCallback())).status).toBe(422);
  expect((await fetch(url + paths.receipt)).status).toBe(405);
  expect((await post(`${url}/nowhere`, receipt(6))).status).toBe(404);

  const { value } = await until(async () => {
    const now = await scrape(url);
    // The table is read before the process's own counters.
    const isApplied = now.value('receiver_unapplied_deliveries', { status: 'received' }) === 0;
    return isApplied && now.value('receiver_deliveries_applied_total') === 4 ? now : undefined;
  });
  const requests = (family: string, status: string) => value('receiver_requests_total', { family, status });
  expect(requests('receipt', '200')).toBe(4);
  expect(requests('consent_form', '200')).toBe(1);
  expect(requests('review_request', '200')).toBe(0);
  expect(requests('receipt', '400')).toBe(1);
  expect(requests('receipt', '422')).toBe(3);
  expect(requests('receipt', '405')).toBe(1);
  expect(requests('none', '404')).toBe(1);
  expect(value('receiver_request_duration_seconds_count', { status: '200' })).toBe(5);
  expect(value('receiver_request_duration_seconds_count', { status: '422' })).toBe(3);
  expect(value('receiver_duplicates_total', { family: 'receipt' })).toBe(1);
  expect(value('receiver_commit_duration_seconds_count', { store: 'postgresql' })).toBe(5);
  expect(value('receiver_quarantine_rows', { reason: 'not_json' })).toBe(1);
  expect(value('receiver_quarantine_rows', { reason: 'invalid' })).toBe(2);
  expect(value('receiver_quarantine_rows', { reason: 'wrong_family' })).toBe(1);
  expect(value('receiver_apply_delay_seconds_count')).toBeGreaterThan(0);
  expect(value('receiver_deliveries_failed_total')).toBe(0);
  expect(value('receiver_unapplied_deliveries', { status: 'received' })).toBe(0);
  expect(value('receiver_unapplied_deliveries', { status: 'failed' })).toBe(0);
  expect(value('receiver_oldest_pending_delivery_age_seconds')).toBe(0);
  expect(value('receiver_store_up', { store: 'postgresql' })).toBe(1);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
});

it('a delivery whose data the database rejects is counted as failed, the others of its job as applied', async () => {
  const { url } = await start();
  await database.pool.query('alter table receipts add constraint c check (receipt_id <> 2)');
  await Promise.all([1, 2, 3].map((id) => post(url + paths.receipt, receipt(id))));
  await until(async () => {
    const { value } = await scrape(url);
    const isCounted = value('receiver_deliveries_failed_total') === 1;
    return isCounted && value('receiver_unapplied_deliveries', { status: 'failed' }) === 1;
  });
  await until(async () => (await scrape(url)).value('receiver_deliveries_applied_total') === 2);
});

it('pending deliveries are shown with their age, and as a problem that nobody applies them', async () => {
  const { url } = await start({ role: 'receiver' });
  for (const id of [1, 2]) await post(url + paths.receipt, receipt(id));
  await database.pool.query(`update pending_deliveries set received_at = now() - interval '1 hour'`);
  const { value } = await until(async () => {
    const now = await scrape(url);
    return now.value('receiver_problems', { kind: 'no worker', status: 'fail' }) === 1 ? now : undefined;
  });
  expect(value('receiver_unapplied_deliveries', { status: 'received' })).toBe(2);
  expect(value('receiver_oldest_pending_delivery_age_seconds')).toBeGreaterThanOrEqual(3600);
});

it('the apply delay starts at the arrival of the delivery, however late its job is', async () => {
  const receiver = await start({ role: 'receiver' });
  await post(receiver.url + paths.receipt, receipt(1));
  await database.pool.query(`update inbox set received_at = now() - interval '2 hours'`);
  const { url } = await start({ paths: { ...registeredPaths, receipt: ['/elsewhere'] } });
  const sum = await until(async () => (await scrape(url)).value('receiver_apply_delay_seconds_sum'));
  expect(sum).toBeGreaterThanOrEqual(7200);
});

it('without the token, /metrics shows nothing', async () => {
  const { url } = await start();
  const problem = {
    type: 'about:blank',
    title: 'Unauthorized',
    status: 401,
    detail: 'Send the header Authorization: Bearer <admin token>.',
  };
  const wrong = ['', 'Bearer', 'Bearer ', `Basic ${adminToken}`, `Bearer ${adminToken}x`, adminToken];
  for (const authorization of wrong) {
    const response = await fetch(`${url}/metrics`, { headers: { Authorization: authorization } });
    expect([response.status, await response.json()]).toEqual([401, problem]);
    expect(response.headers.get('WWW-Authenticate')).toBe('Bearer');
  }
  const query = await fetch(`${url}/metrics?token=${adminToken}`);
  expect(query.status).toBe(401);
  const right = await scrapeText(url);
  expect([right.status, right.headers.get('Content-Type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
});

it('without a token there are no metrics', async () => {
  const { url } = await start({ adminToken: undefined });
  expect((await scrapeText(url)).status).toBe(404);
});

const metricsToken = 'a-metrics-token-of-tests';
it.each([undefined, adminToken])(
  'METRICS_TOKEN alone scrapes and opens nothing else, with the admin token %p',
  async (own) => {
    const { url } = await start({ metricsToken, role: 'receiver', adminToken: own });
    const worker = await start({ metricsToken, role: 'worker', adminToken: own });
    for (const at of [url, worker.url]) {
      expect([at, (await scrapeText(at, metricsToken)).status]).toEqual([at, 200]);
      expect([at, (await scrapeText(at, adminToken)).status]).toEqual([at, 401]);
    }
    const headers = { Authorization: `Bearer ${metricsToken}` };
    const ready = (await (await fetch(`${url}/readyz`, { headers })).json()) as {
      parts: { database: object };
    };
    expect(ready.parts.database).toEqual({ ok: true });
    const signIn = await postForm(`${url}/console/sign-in`, { token: metricsToken });
    expect(signIn.status).toBe(own ? 401 : 404);
  },
);

it('without METRICS_TOKEN the admin token scrapes, and the start warns of it', async () => {
  const startWith = async (options: Partial<Config>) => {
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => void lines.push(line) });
    await startService({ role: 'receiver', log, ...options });
    return lines.filter((line) => line.includes('METRICS_TOKEN'));
  };
  expect(await startWith({ adminToken })).toEqual([expect.stringMatching(/"level":40/)]);
  expect(await startWith({ adminToken, metricsToken })).toEqual([]);
  expect(await startWith({})).toEqual([]);
});

it("nothing of a request's content appears in a scrape", async () => {
  const { url } = await start();
  const hostile = 'CANARY"} 1\nevil_total{x="\\';
  const envelope = receiptCallback({
    event_time: 1_600_000_000,
    client_id: `client ${hostile}`,
    business_id: `business ${hostile}`,
    data: { doctor_oid: hostile, clinic_id: hostile, name: hostile, [hostile]: hostile },
  });
  expect((await post(url + paths.receipt, envelope)).status).toBe(200);
  await post(url + paths.receipt, { ...envelope, event: hostile });
  await post(url + paths.receipt, hostile);
  await post(`${url}/CANARY/${encodeURIComponent(hostile)}`, envelope, { 'X-CANARY': 'CANARY' });
  await fetch(`${url}/CANARY`, { method: 'PROPFIND' });
  await until(async () => (await scrape(url)).value('receiver_deliveries_applied_total') === 1);
  const text = await (await scrapeText(url)).text();
  expect(text).not.toMatch(/CANARY|evil|127\.0\.0\.1/);
  const { metrics } = await scrape(url);
  const own = [...metrics].filter(([name]) => name.startsWith('receiver_'));
  const labels = own.flatMap(([, { samples }]) => samples.flatMap((sample) => Object.keys(sample.labels)));
  const known = ['family', 'status', 'store', 'reason', 'kind', 'le'];
  expect([...new Set(labels)].filter((label) => !known.includes(label))).toEqual([]);
});

it('a worker serves its health and metrics at its port, and no callbacks', async () => {
  const { url } = await start({ role: 'worker' });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  const receiver = await start({ role: 'receiver' });
  await post(receiver.url + paths.receipt, receipt(1));
  await until(async () => (await scrape(url)).value('receiver_deliveries_applied_total') === 1);
  expect((await post(url + paths.receipt, receipt(2))).status).toBe(404);
});

it('the rules of deploy/alerts.yml name metrics that a scrape has', async () => {
  const { url } = await start();
  const rules = readFileSync('deploy/alerts.yml', 'utf8');
  const named = new Set(rules.match(/\breceiver_\w+/g));
  const { metrics } = await scrape(url);
  expect([...named].filter((name) => !metrics.has(name))).toEqual([]);
  expect(rules.match(/- alert:/g)).toHaveLength(6);
});

it('every metric has a help text, and every histogram is consistent', async () => {
  const { url } = await start();
  for (const id of [1, 2, 3]) await post(url + paths.receipt, receipt(id));
  const { metrics } = await scrape(url);
  for (const [name, { type, help, samples }] of metrics) {
    if (!name.startsWith('receiver_')) continue;
    expect(help.length).toBeGreaterThan(40);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    if (type !== 'histogram') continue;
    const counts = samples.filter((sample) => sample.name.endsWith('_count'));
    for (const { labels, value } of counts) {
      const ofLabels = samples.filter(
        (sample) =>
          sample.labels.le && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
      );
      const buckets = ofLabels.map((sample) => sample.value);
      expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
      expect(ofLabels.at(-1)).toMatchObject({ labels: { le: '+Inf' }, value });
    }
  }
});
