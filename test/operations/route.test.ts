import { startParts } from '../../src/app/start-parts.ts';
import { families } from '../../src/callbacks/families/index.ts';
import type { Config } from '../../src/common/config/config.ts';
import { createLog } from '../../src/common/log.ts';
import { operations } from '../../src/operations/feature.ts';
import type { Check } from '../../src/receiver/feature.ts';
import { type ReceiverState, startReceiver } from '../../src/receiver/receiver.ts';
import { closeLater } from '../support/close-later.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { useRedis } from '../support/redis.ts';
import { testConfig } from '../support/service.ts';
import { openCore } from './support.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const redis = useRedis();

/** Starts a receiver. `read` reads a path of it. */
async function serve(config: Partial<Config> = {}) {
  const core = openCore(database, config);
  const routes = (process: ReceiverState) => [operations.routes!({ ...core, process })];
  const options = { databaseUrl: database.url, families, log, routes };
  const { result, stop } = await startParts((onStop) => startReceiver(core.config, options, onStop));
  closeLater(stop);
  const read = (path: string, token?: string) =>
    fetch(result.url + path, token ? { headers: { authorization: `Bearer ${token}` } } : {});
  return { read, stop };
}

it('a process that stops says so at /readyz before it refuses connections', async () => {
  const { read, stop } = await serve({ times: { ...testConfig().times, stopDelayMs: 3_000 } });
  expect((await read('/readyz')).status).toBe(200);
  const stopped = stop();
  const { status, headers } = await read('/readyz');
  expect([status, headers.get('connection')]).toEqual([503, 'close']);
  await stopped;
  await expect(read('/readyz')).rejects.toThrow();
});

it.each([
  ['with Redis', 'checked', ['database', 'queue', 'fallback', 'drain', 'clock', 'access']],
  ['without Redis', undefined, ['database', 'clock', 'access']],
  ['with REDIS_FALLBACK=off', 'off', ['database', 'queue', 'clock', 'access']],
] as const)('%s, readiness has names and states alone', async (_, mode, names) => {
  const { read } = await serve(mode && { redisUrl: redis.url, redisFallback: mode });
  const response = await read('/readyz');
  const text = await response.text();
  const { ready, checks } = JSON.parse(text) as { ready: boolean; checks: Check[] };
  expect([response.status, ready]).toEqual([200, true]);
  // Anybody may ask.
  for (const check of checks) expect(Object.keys(check)).toEqual(['name', 'status']);
  // To be read in a terminal.
  expect(text.split('\n')).toHaveLength(checks.length + 3);
  expect(checks.map(({ name }) => name)).toEqual(names);
});
