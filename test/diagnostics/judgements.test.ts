import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parseConfig } from '../../src/config/config.ts';
import { environmentSchema } from '../../src/config/environment-schema.ts';
import { checkChanges } from '../../src/diagnostics/changes.ts';
import { readConfiguration } from '../../src/diagnostics/configuration.ts';
import { judgeServer } from '../../src/diagnostics/database-server.ts';
import { diagnose } from '../../src/diagnostics/diagnose.ts';
import type { ReportFinding } from '../../src/diagnostics/finding.ts';
import { checkClock, judgeProcess } from '../../src/diagnostics/machine.ts';
import { redactor } from '../../src/diagnostics/redact.ts';
import { families } from '../../src/families/index.ts';

const names = Object.keys(environmentSchema(families).shape);

/** What a function reports, as `status name: detail`. */
async function reported(run: (report: ReportFinding) => unknown): Promise<string[]> {
  const lines: string[] = [];
  await run((status, name, detail) => lines.push(`${status} ${name}: ${detail}`));
  return lines;
}

it('any values of the variables: every fault is named, and the rest is still examined', () => {
  const values = fc.oneof(
    fc.string(),
    fc.constantFrom('production', '/same', '1', 'true', 'postgresql://a/b'),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), values), (env) => {
      const { problems, invalid, config } = readConfiguration(env);
      for (const name of names) expect(invalid.has(name)).toBe(problems.join().split(/\W+/).includes(name));
      if (env.DATABASE_URL && !invalid.has('DATABASE_URL')) expect(config.databaseUrl).toBeDefined();
      if (problems.length === 0) expect(config).toEqual(parseConfig(env, families));
    }),
  );
});

const production = { NODE_ENV: 'production', DATABASE_URL: 'postgresql://localhost/x' };

it('production without an access check is named beside another fault, unless that fault is in an access check', () => {
  const problemsOf = (env: Record<string, string>) =>
    readConfiguration({ ...production, ...env }).problems.map((text) => text.split(' ')[0]);
  expect(problemsOf({ PORT: '70000' })).toEqual(['PORT', 'SIGNING_KEYS,']);
  expect(problemsOf({ ALLOWED_IPS: 'nowhere' })).toEqual(['ALLOWED_IPS']);
});

it('a former variable is a failure beside all others, and hides none', () => {
  const { problems, config } = readConfiguration({
    ...production,
    SIGNING_KEYS: 'k',
    SOCKET: 'x',
    PORT: '70000',
  });
  expect(problems).toEqual(['PORT must be at most 65535', 'SOCKET is no variable any more: listen at PORT']);
  expect(config.port).toBe(8080);
});

const good = {
  version: '17.6',
  major: 17,
  standby: false,
  logs_values: null,
  read_only: false,
  role: 'app',
  database: 'a',
  superuser: false,
  fsync: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  slots: 97,
  used: 9,
  damaged: 0,
};

it.each([
  [{}, []],
  [{ version: '13.9', major: 13 }, [/^fail database: PostgreSQL 13.9 is too old/]],
  [{ version: '99', major: 99 }, [/^warn database: PostgreSQL 99 is newer/]],
  [{ standby: true }, [/^fail database: it is a standby/]],
  [{ fsync: 'off' }, [/^fail .* alter system set fsync = on/]],
  [
    { full_page_writes: 'off', autovacuum: 'off' },
    [/^fail .*full_page_writes = on/, /^warn .*autovacuum = on/],
  ],
  [{ damaged: null }, []],
  [{ damaged: 2 }, [/^fail database: pages with a wrong checksum were read 2 times/]],
  [{ superuser: true }, [/^warn .* alter role app nosuperuser$/]],
  [
    { logs_values: 'log_min_duration_statement = 1s' },
    [/^warn database: log_min_duration_statement = 1s: .* log_parameter_max_length = 0/],
  ],
  [{ used: 90 }, [/^warn connections: 90 of 97 .* raise max_connections/]],
])('a server of PostgreSQL: %p', async (facts, expected) => {
  const config = parseConfig({ DATABASE_URL: 'postgresql://a/b' }, families);
  const lines = await reported((report) => judgeServer({ ...good, ...facts }, config, report));
  const faults = lines.filter((line) => !line.startsWith('ok'));
  expect(faults).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
});

it.each([
  [{ version: '20.19.0', files: 4096, memoryMiB: 512 }, ['ok', 'ok', 'ok']],
  [{ version: '20.9.0', files: 1024, memoryMiB: 256 }, ['fail', 'warn', 'warn']],
  [{ version: '101.0.0', files: Number.POSITIVE_INFINITY, memoryMiB: 4096 }, ['ok', 'ok', 'ok']],
])('a process: %p', async (facts, expected) => {
  const lines = await reported((report) => judgeProcess(facts, report));
  expect(lines.map((line) => line.split(' ')[0])).toEqual(expected);
});

it.each([
  [0, 'ok'],
  [-1_500, 'ok'],
  [30_000, 'warn'],
  [-59_000, 'warn'],
  [-61_000, 'fail'],
  [61_000, 'fail'],
])('a clock that differs by %i ms: %s', async (difference, expected) => {
  const read = async () => Date.now() + difference;
  const lines = await reported((report) => checkClock('Redis', read, report));
  expect(lines).toEqual([expect.stringMatching(`^${expected} clock: `)]);
});

it('no secret is left in a text of another program', () => {
  const text = fc.stringMatching(/^[\w%:@?&=-]{4,30}$/);
  fc.assert(
    fc.property(text, text, text, fc.string(), (token, password, other, around) => {
      const [encoded, otherEncoded] = [password, other].map(encodeURIComponent) as [string, string];
      const redact = redactor({
        SIGNING_KEYS: `former-key,${token}`,
        REDIS_URL: `redis://me:${encoded}@cache.example/0`,
        DATABASE_URL: `postgresql://host/db?user=me&password=${otherEncoded}`,
      });
      const secrets = [token, password, encoded, other, otherEncoded];
      const redacted = redact(`${around} ${secrets.join(' ')} ${around}`);
      for (const secret of secrets) expect(redacted).not.toContain(secret);
    }),
  );
});

it('nothing is created where there is no database yet', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-doctor-'));
  const findings = await diagnose({ DATA_DIR: join(folder, 'data'), PORT: '0' });
  expect(findings.find(({ name }) => name === 'database')!.detail).toContain('The first start creates it');
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

it.each([
  [{}, []],
  [{ CHANGES_TOKENS: 'k3v9x7q2m5n8b1c4,public:z8y6w4u2s9r7p5o3' }, [/^ok changes: 2 .*, 1 of them public/]],
  [
    { CHANGES_TOKENS: 'k3v9x7q2m5n8b1c4', ADMIN_TOKEN: 'k3v9x7q2m5n8b1c4' },
    [/^warn changes: .* the ADMIN_TOKEN/, /^ok changes/],
  ],
])('changes and webhooks with %j are judged', async (env, expected) => {
  const config = parseConfig({ ALLOW_UNAUTHENTICATED: 'true', ...env }, families);
  const lines = await reported((report) => checkChanges({ config } as never, report));
  expect(lines).toEqual(expected.map((line) => expect.stringMatching(line)));
});
