import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { newRecords } from '../../src/sandbox/records.ts';
import { sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { openPlatform } from '../../src/service/open-platform.ts';
import { startService } from '../../src/service/service.ts';
import { useDatabase } from '../support/database.ts';
import { testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';

const database = useDatabase();

/** Runs a worker that knows the platform's address, until a condition is met. */
async function runWorker(platformUrl: string, days: number | undefined, condition: () => Promise<unknown>) {
  const config = testConfig({
    databaseUrl: database.url,
    role: 'worker',
    reconcile: days ? { days } : undefined,
  });
  const env = { SERVICE_BASE_URL: platformUrl, SERVICE_TOKEN: sandboxToken };
  const service = await startService(config, families, createLog('silent'), {
    openPlatform: async () => openPlatform(env),
  });
  try {
    await until(condition);
  } finally {
    await service.stop();
  }
}

const hasBeat = async () => (await database.rows('select from workers')).length > 0;

it('without RECONCILE a worker connects to nothing; with it, appointments, subscriptions and names are compared, once', async () => {
  let connections = 0;
  const counting = createServer().on('connection', () => connections++);
  await new Promise<void>((done) => counting.listen(0, '127.0.0.1', done));
  const { port } = counting.address() as AddressInfo;
  await runWorker(`http://127.0.0.1:${port}`, undefined, hasBeat);
  counting.close();
  expect(connections).toBe(0);

  const sandbox = await startSandbox({ records: newRecords('business-1') });
  const isDone = async () =>
    (await database.rows('select from reconciliations where ended_at is not null')).length > 0;
  try {
    for (let workers = 0; workers < 2; workers++) await runWorker(sandbox.url, 1, isDone);
    const asked = sandbox.requests.map(({ path }) => path);
    for (const part of ['/appointment', '/subscriptions'])
      expect(asked.filter((path) => path.endsWith(part))).toHaveLength(1);
    // The names, and whose credentials they are.
    expect(asked.filter((path) => path.endsWith('/entities'))).toHaveLength(2);
  } finally {
    await sandbox.close();
  }
});
