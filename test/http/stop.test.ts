import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createApp } from '../../src/http/app.ts';
import { type HttpServer, listen } from '../../src/http/server.ts';
import { until } from '../support/until.ts';

async function start(drainMs: number): Promise<HttpServer> {
  const config = parseConfig({ PORT: '0' }, families);
  const log = createLog('silent');
  const app = createApp({ callbacks: new Map(), health: [], log });
  return listen(app, new Map(), { ...config, drainMs }, { log });
}

/** The status on a new connection; undefined if it is refused. */
const statusOf = (url: string, path: string) =>
  fetch(url + path, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => undefined,
  );

it('a health check that asks regularly is told of a stop before connections are refused', async () => {
  const server = await start(1_000);
  expect(await statusOf(server.url, '/readyz')).toBe(200);
  expect(await statusOf(server.url, '/readyz')).toBe(200);
  const stopped = server.stop();
  // Other requests are still taken.
  expect(await statusOf(server.url, '/healthz')).toBe(200);
  expect(await statusOf(server.url, '/readyz')).toBe(503);
  await stopped;
  expect(await statusOf(server.url, '/healthz')).toBeUndefined();
});

it('a health check that has stopped asking does not prevent the stop', async () => {
  const server = await start(50);
  for (const path of ['/readyz', '/readyz']) await statusOf(server.url, path);
  await server.stop();
});

it('without a health check, connections are refused from the beginning of the stop', async () => {
  const server = await start(60_000);
  await statusOf(server.url, '/readyz');
  const stopped = server.stop();
  await until(async () => (await statusOf(server.url, '/healthz')) === undefined);
  await stopped;
});
