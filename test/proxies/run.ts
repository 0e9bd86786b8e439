// npm run rolling-restart -- --proxy nginx|haproxy|caddy [--requests 6000] [--signal SIGTERM|SIGKILL] [--sockets]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLog } from '../../src/common/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { startReceivers } from './receivers.ts';
import { type RollingRestart, rollingRestart } from './rolling-restart.ts';
import { proxies, startProxy } from './start-proxy.ts';

const { values } = parseArgs({
  options: {
    proxy: { type: 'string' },
    requests: { type: 'string', default: '6000' },
    rate: { type: 'string', default: '200' },
    signal: { type: 'string', default: 'SIGTERM' },
    sockets: { type: 'boolean', default: false },
  },
});
const name = proxies.find((one) => one === values.proxy);
const signal = (['SIGTERM', 'SIGKILL'] as const).find((one) => one === values.signal);
if (!name || !signal) {
  process.stderr.write(`--proxy is ${proxies.join(', ')}; --signal is SIGTERM or SIGKILL\n`);
  process.exit(64);
}

const closers: (() => unknown)[] = [];
const onEnd = <T extends { stop: () => unknown }>(part: T): T => {
  closers.unshift(part.stop);
  return part;
};
let result: RollingRestart;
try {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-rolling-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const { url: databaseUrl } = onEnd(await startEmbeddedPostgres(folder, createLog('silent')));
  const env = { DATABASE_URL: databaseUrl };
  const receivers = onEnd(await startReceivers(env, values.sockets ? 'sockets' : 'ports'));
  const { url } = onEnd(await startProxy(name, receivers.addresses));
  const load = { requests: Number(values.requests), rate: Number(values.rate), signals: [signal] };
  result = await rollingRestart({ url, receivers, databaseUrl, business: name, ...load });
} finally {
  for (const close of closers) await close();
}

const failed = Object.values(result.failures).reduce((sum, count) => sum + count, 0);
const ms = (value: number) => `${value.toFixed(0)} ms`;
const lines = [
  ...result.restarts.map(
    ({ receiver, seconds, requests, failed: n, slowestMs }) =>
      `restart of receiver ${receiver + 1} (${signal}): ${seconds.toFixed(1)} s, ${requests} requests, ${n} failed, slowest ${ms(slowestMs)}`,
  ),
  `${result.requests} requests behind ${name}, ${result.restarts.length} restarts: ${failed} failed ${failed > 0 ? JSON.stringify(result.failures) : ''}`,
  `median ${ms(result.medianMs)}, slowest ${ms(result.slowestMs)}`,
  `acknowledged and not applied: ${result.lost}; deliveries: ${result.deliveries}, of which repeated: ${result.repeated}; receipts: ${result.rows}`,
];
process.stdout.write(`${lines.join('\n')}\n`);
const isWhole = result.lost === 0 && result.rows === result.deliveries;
process.exit(failed === 0 && isWhole ? 0 : 1);
