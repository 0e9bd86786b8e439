import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathsOf } from '../../../src/callbacks/families/family.ts';
import { families as documentedFamilies } from '../../../src/callbacks/families/index.ts';
import { type InvalidConfiguration, parseConfig } from '../../../src/common/config/config.ts';
import { readEnvironment } from '../../../src/common/config/read-environment.ts';
import { type Environment, variableNames } from '../../../src/common/config/variables.ts';
import { killProcesses, spawnReceiver } from '../../support/process.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const families = documentedFamilies.map(pathsOf);
let folder: string;
let file: string;
beforeEach(() => {
  folder = tempFolder();
  file = join(folder, '.env');
});
afterEach(() => {
  jest.restoreAllMocks();
  killProcesses();
});

/** What is read, or the problems. */
const read = (text: string | Buffer, env: Environment = {}) => {
  writeFileSync(file, text);
  return readEnvironment(env, families, file).catch(({ problems }: InvalidConfiguration) =>
    (problems ?? ['raw error']).map((problem) => problem.replace(folder, '')),
  );
};

/** Each documented variable with a valid value. */
const valid: Record<string, string> = {
  HOST: '127.0.0.1',
  PORT: '8081',
  ROLE: 'receiver',
  TRUST_PROXY: '1',
  EVENTS_PATH: '/all',
  RECEIPTS_PATH: '/receipts,/more',
  CONSENT_FORMS_PATH: '/forms',
  REVIEW_REQUESTS_PATH: '/reviews',
  FAMILIES: 'families',
  HANDLERS: 'handlers',
  NODE_ENV: 'production',
  SIGNING_KEYS: 'a1b2c3d4e5f60718,b1b2c3d4e5f60718',
  SIGNATURE_HEADER: 'X-Ours',
  ALLOWED_IPS: '192.0.2.0/24',
  ALLOWED_CLIENT_IDS: 'a,b',
  ALLOWED_BUSINESS_IDS: 'c',
  ALLOW_UNAUTHENTICATED: 'false',
  DATABASE_URL: 'postgresql://user:password@host:5432/database',
  DIRECT_DATABASE_URL: 'postgresql://user:password@direct:5432/database',
  REPORT_DATABASE_URL: 'postgresql://user:password@standby:5432/database',
  DATA_DIR: 'data',
  REDIS_URL: 'redis://:password@host:6379/0',
  REDIS_FALLBACK: 'trusted',
  QUEUE_PREFIX: 'ours',
  BODY_LIMIT: '1mb',
  RETENTION: 'receipt=8y',
  ERASURE_KEEP: '1d',
  PUBLIC_URL: 'https://receiver.example.org',
  ADMIN_TOKEN: 'c1b2c3d4e5f60718',
  OIDC_ISSUER: 'https://accounts.example.org',
  OIDC_CLIENT_ID: 'ours',
  OIDC_CLIENT_SECRET: 'd1b2c3d4e5f60718',
  OIDC_ROLES_MAP: 'viewer=@example.org',
  REPORT_TIMEZONE: 'UTC',
  LOG_LEVEL: 'debug',
  METRICS_TOKEN: 'e1b2c3d4e5f60718',
  ALERT_WEBHOOK_URL: 'https://hooks.example.org/a',
  ALERT_EMAIL_TO: 'a@example.org',
  ALERT_EMAIL_FROM: 'b@example.org',
  SMTP_URL: 'smtps://c%40example.org:password@mail.example.org:465',
  SERVICE_BASE_URL: 'https://platform.example.org',
  SERVICE_TOKEN: 'token',
  SERVICE_CLIENT_ID: 'client',
  SERVICE_CLIENT_SECRET: 'secret',
  SERVICE_IDENTIFIER_FIELD: 'svc2',
  RECONCILE: '7d',
  CHANGES_TOKENS: 'public:f1b2c3d4e5f60718',
};

it('each documented variable means the same with a blank or a line end behind it', async () => {
  expect(Object.keys(valid).toSorted()).toEqual(variableNames(families).toSorted());
  const configs = ['', ' ', '\n', '\r\n'].map(async (ending) => {
    const env = Object.fromEntries(Object.entries(valid).map(([name, value]) => [name, value + ending]));
    return parseConfig(await readEnvironment(env, families, file), families);
  });
  const [expected, ...others] = await Promise.all(configs);
  expect(others).toEqual([expected, expected, expected]);
  expect(expected!.production).toBe(true);
});

it('a value in quotes is refused, with its name and without the value', async () => {
  for (const [name, value] of Object.entries(valid))
    for (const quoted of [`"${value}"`, `'${value}' \n`])
      expect(await read('', { [name]: quoted })).toEqual([`${name} must have no quotes around its value`]);
  expect(await read('', { SIGNING_KEYS: 'a1b2c3d4e5f60718,"b1b2c3d4e5f60718"' })).toHaveLength(1);
});

const inUtf16 = Buffer.from('\ufeffNODE_ENV=production', 'utf16le');
it.each([
  ['UTF-16', inUtf16, 1],
  ['UTF-16 without a mark', inUtf16.subarray(2), 1],
  ['an open quote', 'PORT=1\nADMIN_TOKEN="c1b2c3d4e5f60718\n', 2],
  ['another text behind a quote', `ADMIN_TOKEN='it's'`, 1],
  ['a # that would cut a value', 'PORT=1\r\n\r\nADMIN_TOKEN=c1b2c3d4#5f60718', 3],
  ['a # that would empty a value', 'ADMIN_TOKEN=#1b2c3d4e5f60718', 1],
  ['no =', 'NODE_ENV production', 1],
  ['a name twice', 'NODE_ENV=production\nPORT=1\nNODE_ENV=\n', 3],
])('.env with %s is refused, with the file and the line', async (_, text, line) => {
  expect(await read(text)).toEqual([expect.stringMatching(`^/.env:${line} `)]);
});

it('.env may have comments, quotes, blanks, a byte order mark and line ends of any kind', async () => {
  const text = `\ufeffNODE_ENV=production\r\n# a comment = "x\n\n export ROLE = worker # all\rA="x # y" # z\nB='it"s'\nC=\nD=x"y"\nE=# z`;
  expect(await read(text.replace('E=# z', 'E= # z'))).toEqual({
    ...{ NODE_ENV: 'production', ROLE: 'worker', A: 'x # y', B: 'it"s', D: 'x"y"' },
  });
});

it('the environment wins over .env, but for an empty value, and libraries see both', async () => {
  const env: Environment = { NODE_ENV: '', ROLE: 'worker ', PGSSLMODE: undefined };
  const expected = { NODE_ENV: 'production', ROLE: 'worker', PGSSLMODE: 'require' };
  expect(await read('NODE_ENV=production\nROLE=all\nPGSSLMODE=require', env)).toEqual(expected);
  expect(env).toMatchObject({ NODE_ENV: 'production', PGSSLMODE: 'require' });
});

it('each value may come from a file that <NAME>_FILE names', async () => {
  const env: Environment = {};
  for (const [name, value] of Object.entries(valid)) {
    env[`${name}_FILE`] = join(folder, name);
    writeFileSync(join(folder, name), `${value.replaceAll(',', '\n')}\n`);
  }
  expect(parseConfig(await readEnvironment(env, families, file), families)).toEqual(
    parseConfig(valid, families),
  );
});

it('a file that is missing, empty, or one of two ways to set a value, is named without the value', async () => {
  writeFileSync(join(folder, 'empty'), '\n');
  const path = (name: string) => join(folder, name);
  expect(await read('', { ADMIN_TOKEN_FILE: path('missing') })).toEqual([
    'ADMIN_TOKEN_FILE must name a file that can be read (ENOENT)',
  ]);
  expect(await read('', { SIGNING_KEYS_FILE: path('empty') })).toEqual([
    'SIGNING_KEYS_FILE names an empty file',
  ]);
  expect(await read('', { SMTP_URL: 'smtp://a', SMTP_URL_FILE: path('empty') })).toContain(
    'SMTP_URL and SMTP_URL_FILE are both set: remove one',
  );
});

it.each(['start', 'doctor', 'send'])(
  'a .env that cannot be read ends %s with 78, and a line',
  async (command) => {
    mkdirSync(file);
    const started = spawnReceiver([command], { PORT: '0' }, folder);
    expect(await started.end()).toBe(78);
    expect(started.output()).toBe('.env:1 must be a readable text file in UTF-8 (EISDIR)\n');
  },
);
