import type { Service } from '../../src/service/service.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { parseExposition } from './exposition.ts';
import { adminToken, scrape } from './scraping.ts';

const tracing = { endpoint: 'http://127.0.0.1:1', headers: {}, resource: {}, serviceName: 'test', ratio: 1 };
const accept = 'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3';

const { start } = useService({ per: 'test' });
let service: Service & { url: string };

/** Starts a service with these options, which applies one delivery. @returns the id of its trace */
async function applyOne(options: { tracing?: typeof tracing }): Promise<string> {
  const metrics = { port: undefined, cacheMs: 0 };
  service = await start({ adminToken, metrics, ...options });
  const { id } = (await (await post(service.url + paths.receipt, receiptCallback())).json()) as {
    id: string;
  };
  await until(async () => (await scrape(service.url)).value('receiver_deliveries_applied_total') === 1);
  return id.replaceAll('-', '');
}

const get = (headers: Record<string, string>) =>
  fetch(`${service.url}/metrics`, { headers: { Authorization: `Bearer ${adminToken}`, ...headers } });

it('where traces are on, the histograms of latencies have exemplars in OpenMetrics, and the text format is as before', async () => {
  const traceId = await applyOne({ tracing });
  const before = await (await get({})).text();
  const response = await get({ Accept: accept });
  expect(response.headers.get('content-type')).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  const text = await response.text();
  const exemplars = text.matchAll(/^(\w+)_bucket\{.*\} \d+ # \{trace_id="(\w+)"\} [\d.e-]+ [\d.]+$/gm);
  expect(new Map(Array.from(exemplars, ([, name, id]) => [name, id]))).toEqual(
    new Map([
      ['receiver_request_duration_seconds', traceId],
      ['receiver_commit_duration_seconds', traceId],
      ['receiver_apply_duration_seconds', traceId],
    ]),
  );
  expect(text).toContain(
    '\n# TYPE receiver_deliveries_applied counter\nreceiver_deliveries_applied_total 1\n',
  );
  expect(text).toMatch(/\n# EOF\n$/);

  const plain = await get({});
  expect(plain.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const after = await plain.text();
  expect(after).not.toContain('trace_id');
  const names = (exposition: string) => [...parseExposition(exposition).keys()];
  expect(names(after)).toEqual(names(before));
  expect((await scrape(service.url)).value('receiver_deliveries_applied_total')).toBe(1);
});

it('where traces are off, /metrics has the text format only', async () => {
  await applyOne({});
  const response = await get({ Accept: accept });
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  parseExposition(await response.text());
});
