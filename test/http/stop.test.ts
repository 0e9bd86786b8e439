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
  return listen(app, new Map(), { ...config, drainMs }, {});
}

/** The status on a new connection; undefined if it is refused. */
const statusOf = (url: string, path: string) =>
  fetch(url + path, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => undefined,
  );

it('connections are refused from the beginning of a stop', async () => {
  const server = await start(60_000);
  const stopped = server.stop();
  await until(async () => (await statusOf(server.url, '/healthz')) === undefined);
  await stopped;
});
