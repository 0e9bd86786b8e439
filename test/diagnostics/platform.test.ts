import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfiguration } from '../../src/diagnostics/configuration.ts';
import { checkPlatform, checkReconciliation } from '../../src/diagnostics/platform.ts';
import { redactor } from '../../src/diagnostics/redact.ts';
import { sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

async function findings(env: Record<string, string>) {
  const lines: string[] = [];
  const subject = { env, ...readConfiguration(env), redact: redactor(env) };
  const report = (status: string, name: string, detail: string) =>
    void lines.push(`${status} ${name}: ${detail}`);
  await checkPlatform(subject, report);
  await checkReconciliation(database, report, subject);
  return lines;
}

it('the credentials and the clock are checked where the address of the platform is set', async () => {
  const sandbox = await startSandbox();
  try {
    const env = { SERVICE_BASE_URL: sandbox.url, SERVICE_TOKEN: sandboxToken };
    expect(await findings({ SERVICE_TOKEN: sandboxToken })).toEqual([]);
    expect(sandbox.requests).toEqual([]);
    expect((await findings(env)).slice(0, 2)).toEqual([
      'ok platform: the credentials work for the directory',
      'ok clock: as that of the platform',
    ]);
    const own = { ...env, RECONCILE: '7d' };
    expect((await findings(own))[0]).toBe('ok platform: the credentials work for appointments');
    expect((await findings({ ...own, SERVICE_TOKEN: 'a-wrong-token' }))[0]).toMatch(
      /^fail platform: appointments/,
    );
    const [wrong] = await findings({ ...env, SERVICE_TOKEN: 'a-wrong-token' });
    expect(wrong).toMatch(/^warn platform: the directory could not be read: .*401.* Check SERVICE_BASE_URL/);
    expect(wrong).not.toContain('a-wrong-token');
    const [missing] = await findings({ SERVICE_BASE_URL: sandbox.url });
    expect(missing).toMatch(/^warn platform: .*set SERVICE_TOKEN/);
  } finally {
    await sandbox.close();
  }
});

it('a clock that is apart from the platform’s is found', async () => {
  const server = createServer((_, response) => {
    response.setHeader('Date', new Date(Date.now() - 600_000).toUTCString());
    response.setHeader('Content-Type', 'application/json').end('{"data": {}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { SERVICE_BASE_URL: `http://127.0.0.1:${port}`, SERVICE_TOKEN: 'a-token-of-tests' };
  try {
    const [credentials, clock] = await findings(env);
    expect(credentials).toMatch(/^ok platform: the credentials work/);
    expect(clock).toMatch(/^warn clock: 60\d s apart from that of the platform/);
    const [, signed] = await findings({ ...env, SIGNING_KEYS: 'a-signing-key-of-tests' });
    expect(signed).toMatch(/^fail clock: .* all callbacks are rejected/);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

it('it says which days are compared, and when that was last done', async () => {
  const env = { SERVICE_BASE_URL: 'http://127.0.0.1:9', SERVICE_TOKEN: 'a-token-of-tests' };
  const last = async (more: Record<string, string> = {}) => (await findings({ ...env, ...more })).at(-1);
  expect(await last()).toBe(
    'ok reconciliation: RECONCILE is not set: nothing is compared by itself. None was completed yet',
  );
  await database.rows(
    `insert into reconciliations (business_id, from_day, to_day, ended_at) values ('b-1', '2026-06-01', '2026-06-08', '2026-06-08T20:00Z')`,
  );
  expect(await last({ RECONCILE: '7d' })).toMatch(
    /^ok reconciliation: today \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d are compared\. The last .* at 2026-06-08T20:00:00\.000Z, of 2026-06-01 to 2026-06-08$/,
  );
});
