import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { configurationDocuments } from '../../../docs/configuration-documents.ts';
import { pathsOf } from '../../../src/callbacks/families/family.ts';
import { families as documentedFamilies } from '../../../src/callbacks/families/index.ts';
import { parseSettings } from '../../../src/client/settings.ts';
import { type InvalidConfiguration, parseConfig } from '../../../src/common/config/config.ts';
import { client, type Environment, environmentSchema } from '../../../src/common/config/variables.ts';

const families = documentedFamilies.map(pathsOf);

const problems = (env: Record<string, string>): string[] => {
  try {
    parseConfig(env, families);
    return [];
  } catch (error) {
    return (error as InvalidConfiguration).problems;
  }
};

it.each([
  ['https://receiver.clinic.invalid', 'https://receiver.clinic.invalid'],
  ['https://Receiver.clinic.invalid:443/', 'https://receiver.clinic.invalid'],
  ['http://10.0.0.7:8080', 'http://10.0.0.7:8080'],
])('PUBLIC_URL %s is the origin %s', (PUBLIC_URL, expected) => {
  expect(parseConfig({ PUBLIC_URL }, families).publicUrl).toBe(expected);
});

it.each([
  ['https://clinic.invalid/receiver', 'PUBLIC_URL must have no path: the receiver needs its own host name'],
  ['https://clinic.invalid/?a=b', 'PUBLIC_URL must have no path: the receiver needs its own host name'],
  ['receiver.clinic.invalid', 'PUBLIC_URL must be a URL'],
  ['https://user:secret@clinic.invalid', 'PUBLIC_URL must be a URL without a user'],
])('PUBLIC_URL %s is refused at the start', (PUBLIC_URL, problem) => {
  expect(problems({ PUBLIC_URL })).toEqual([expect.stringContaining(problem)]);
});

it('reports all errors at once, each with the name of its variable and without its value', () => {
  const wrong = {
    PORT: 'eighty',
    DATABASE_URL: 'mysql://SECRET',
    REDIS_URL: 'SECRET',
    ROLE: 'boss',
    BODY_LIMIT: 'huge',
    RECEIPTS_PATH: 'no-slash',
    ALLOW_UNAUTHENTICATED: 'maybe',
    LOG_LEVEL: 'loud',
    ADMIN_TOKEN: 'SECRET',
  };
  const found = problems(wrong);
  expect(found.map((problem) => problem.split(' ')[0]).toSorted()).toEqual(Object.keys(wrong).toSorted());
  expect(found.join()).not.toContain('SECRET');
});

it('RETENTION names a family once: a slip deletes nothing', () => {
  expect(problems({ RETENTION: 'receipt=8y,receipt=1d' })).toEqual(['RETENTION must name receipt once']);
});

const random = 'f3b8c1d94e7a2065';
const secrets = ['ADMIN_TOKEN', 'METRICS_TOKEN', 'OIDC_CLIENT_SECRET', 'SIGNING_KEYS', 'CHANGES_TOKENS'];
it.each(secrets)('%s must have 16 characters, and not repeat a few', (name) => {
  const found = (value: string) =>
    problems({ [name]: value }).filter((problem) => /characters/.test(problem) && problem.startsWith(name));
  expect(found(random)).toEqual([]);
  expect(found('9046153827710465')).toEqual([]);
  expect(found(random.slice(1))).toEqual([`${name} must have at least 16 characters`]);
  for (const repeated of ['a'.repeat(16), 'ab'.repeat(40), '1234'.repeat(4), 'password'.repeat(2)]) {
    expect([repeated, found(repeated)]).toEqual([
      repeated,
      [expect.stringMatching(/^\w+ must (not repeat|have)/)],
    ]);
  }
});

it('a secret opens one thing: no token is that of another variable, or twice in a list', () => {
  const others = {
    ADMIN_TOKEN: random,
    METRICS_TOKEN: `${random}1`,
    CHANGES_TOKENS: `${random}2,${random}3`,
  };
  const all = { ...others, SIGNING_KEYS: `${random}4,${random}5` };
  expect(problems(all)).toEqual([]);
  for (const [more, expected] of [
    [{ METRICS_TOKEN: random }, 'ADMIN_TOKEN, METRICS_TOKEN must differ from each other'],
    [
      { CHANGES_TOKENS: `${random}2,public:${random}1` },
      'METRICS_TOKEN, CHANGES_TOKENS must differ from each other',
    ],
    [{ CHANGES_TOKENS: `public:${random}2,${random}2` }, 'CHANGES_TOKENS must differ from each other'],
    [{ SIGNING_KEYS: `${random}4, ${random}2` }, 'CHANGES_TOKENS, SIGNING_KEYS must differ from each other'],
  ] as const)
    expect(problems({ ...all, ...more })).toEqual([expected]);
});

it.each([
  ['production', true],
  ['Production', true],
  ['PRODUCTION', true],
  ['development', false],
  ['test', false],
])('NODE_ENV %s is production: %s', (NODE_ENV, production) => {
  const env = { NODE_ENV, SIGNING_KEYS: random };
  expect(problems(env)).toEqual(production ? [expect.stringMatching(/^DATABASE_URL must be set/)] : []);
  const DATABASE_URL = 'postgresql://user:password@host:5432/database';
  expect(parseConfig({ ...env, DATABASE_URL }, families).production).toBe(production);
  if (production)
    expect(problems({ NODE_ENV, DATABASE_URL })).toEqual([expect.stringMatching(/^SIGNING_KEYS or/)]);
});

it.each(['prod', 'produktion', 'live', 'staging', '1', 'true'])('NODE_ENV %s is refused', (NODE_ENV) => {
  expect(problems({ NODE_ENV })).toEqual(['NODE_ENV must be production, development or test, or unset']);
});

it('no list is empty, or has all addresses: it would check nothing', () => {
  for (const name of [
    'SIGNING_KEYS',
    'ALLOWED_IPS',
    'ALLOWED_CLIENT_IDS',
    'ALLOWED_BUSINESS_IDS',
    'CHANGES_TOKENS',
  ])
    expect(problems({ [name]: ' , ' })).toEqual([`${name} must have a value between its commas`]);
  for (const range of ['0.0.0.0/0', '192.0.2.1,::/0'])
    expect(problems({ ALLOWED_IPS: range })).toEqual([expect.stringMatching(/^ALLOWED_IPS must not have/)]);
  expect(problems({ BODY_LIMIT: '4096kib' })).toEqual([expect.stringMatching(/^BODY_LIMIT must be a size/)]);
});

it('DATABASE_URL may lead to a socket', () => {
  const accepted = (DATABASE_URL: string) => problems({ DATABASE_URL }).length === 0;
  for (const query of ['?host=/var/run/postgresql', '?a=b&host=%2Fvar%2Frun%2Fpostgresql'])
    expect(accepted(`postgresql://user:p@ss@/database${query}`)).toBe(true);
  expect(accepted('postgresql:///database?host=/var/run/postgresql')).toBe(true);
  for (const other of ['user:p@/database', 'user:p@/database?user=a', 'user:p@a:1,b:2/database?host=/x'])
    expect(accepted(`postgresql://${other}`)).toBe(false);
});

it('connections are kept for longer than proxies keep them', () => {
  expect(parseConfig({}, families).times.keepAliveMs).toBeGreaterThan(900_000);
});

it('any text in any variable is accepted, or an error names the variable', () => {
  const names = Object.keys(documented());
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.string({ unit: 'binary' }), (name, value) => {
      for (const problem of problems({ [name]: value })) expect(problem).toContain(name);
    }),
  );
});

it('an empty value counts as unset', () => {
  const empty = Object.fromEntries(Object.keys(documented()).map((name) => [name, '']));
  expect(parseConfig(empty, families)).toEqual(parseConfig({}, families));
});

it.each([
  ['x', true],
  ['clinic-2_EU', true],
  ['a'.repeat(50), true],
  ['a'.repeat(51), false],
  ['{receiver}', false],
  ['a:b', false],
  ['a b', false],
])('QUEUE_PREFIX %p is accepted: %p', (QUEUE_PREFIX, accepted) => {
  expect(problems({ QUEUE_PREFIX })).toEqual(
    accepted ? [] : ['QUEUE_PREFIX must have 1 to 50 letters, digits, - and _'],
  );
});

it('two families cannot share a path', () => {
  expect(problems({ RECEIPTS_PATH: '/same', CONSENT_FORMS_PATH: '/same' })).toEqual([
    expect.stringContaining('RECEIPTS_PATH'),
  ]);
});

it('lists are separated by commas', () => {
  const SIGNING_KEYS = `${random}, ${random}1`;
  const { authentication } = parseConfig({ SIGNING_KEYS, ALLOWED_CLIENT_IDS: 'a,b,' }, families);
  expect(authentication).toMatchObject({ signingKeys: [random, `${random}1`], allowedClientIds: ['a', 'b'] });
});

/** The required settings of the outbound client. */
const clientSettings: Record<string, string> = {
  SERVICE_BASE_URL: 'http://service.invalid',
  SERVICE_TOKEN: 'x',
};

it('roles are given to values, addresses and domains', () => {
  const oidc = (env: Environment) => {
    const own = {
      OIDC_ISSUER: 'https://a.example',
      OIDC_CLIENT_ID: 'x',
      OIDC_CLIENT_SECRET: 'a-secret-of-tests',
    };
    return parseConfig({ ...own, ...env }, families).oidc;
  };
  const map =
    'privacy=7d4b-2c,operator = cn=front%2Cou=x , operator=asha@clinic.example,viewer=@clinic.example';
  expect(oidc({ OIDC_ROLES_MAP: map })).toMatchObject({
    rolesMap: [
      { role: 'privacy', value: '7d4b-2c' },
      { role: 'operator', value: 'cn=front,ou=x' },
      { role: 'operator', value: 'asha@clinic.example' },
      { role: 'viewer', value: '@clinic.example' },
    ],
  });
  expect(oidc({})).toMatchObject({ rolesMap: undefined });
  for (const OIDC_ROLES_MAP of ['SECRET', 'admin=SECRET', 'viewer=', 'viewer=@', 'viewer=x,SECRET', ',']) {
    const found = problems({ OIDC_ROLES_MAP });
    expect(found).toEqual([expect.stringMatching(/^OIDC_ROLES_MAP must be role=value/)]);
    expect(found.join()).not.toContain('SECRET');
  }
});

it('the client reads the variables that are documented for it, with their defaults', () => {
  const read = new Set<string>(Object.keys(clientSettings));
  const get = (env: Record<string, string>, name: string) => {
    read.add(name);
    return env[name];
  };
  const { serviceIdentifierField } = parseSettings(new Proxy(clientSettings, { get }));
  expect([...read].toSorted()).toEqual(Object.keys(client).toSorted());
  expect(documented()).toMatchObject({ SERVICE_IDENTIFIER_FIELD: serviceIdentifierField });
});

it('every variable of the receiver has a description', () => {
  const schemas = Object.entries(environmentSchema(families).shape);
  expect(schemas.filter(([, { description }]) => !description)).toEqual([]);
});

it('the documents of variables and families are written from them (otherwise: npm run docs)', () => {
  const read = (path: string) => readFileSync(path, 'utf8');
  const documents = configurationDocuments(documentedFamilies, read);
  const written = Object.fromEntries(Object.keys(documents).map((path) => [path, read(path)]));
  expect(written).toEqual(documents);
});

it('.env.example with every line uncommented is the default configuration', () => {
  expect(parseConfig(documented(), families)).toEqual(parseConfig({}, families));
});

/** The variables of .env.example and their values. */
function documented(): Record<string, string> {
  const lines = readFileSync('.env.example', 'utf8').split('\n');
  const pairs = lines.map((line) => /^#?([A-Z_]+)=(.*)$/.exec(line)).filter((match) => match !== null);
  return Object.fromEntries(pairs.map(([, name, value]) => [name!, value!]));
}

it('accepts only time zones with the same meaning in Node and PostgreSQL', () => {
  const problem = (REPORT_TIMEZONE: string) => problems({ REPORT_TIMEZONE }).join();
  for (const name of ['Asia/Kolkata', 'Asia/Calcutta', 'UTC', 'America/Argentina/Ushuaia', 'Etc/GMT+5']) {
    expect(problem(name)).toBe('');
  }
  for (const name of ['IST', 'BST', 'EST', 'EST5EDT', 'GMT', 'Japan', '+05:30', 'India', 'Mars/Olympus']) {
    expect(problem(name)).toMatch(/^REPORT_TIMEZONE must be a full name/);
  }
});

it('alerts by e-mail need recipients, a mail server and a sender; each that is missing is named', () => {
  const to = { ALERT_EMAIL_TO: 'a@example.org, b@example.org' };
  const SMTP_URL = 'smtps://alerts@example.org:p@ss/word@mail.example.org:465';
  expect(parseConfig({ ...to, SMTP_URL }, families).alerts.email).toEqual({
    to: ['a@example.org', 'b@example.org'],
    from: 'alerts@example.org',
    smtpUrl: 'smtps://alerts%40example.org:p%40ss%2Fword@mail.example.org:465',
  });
  expect(problems(to)).toEqual([expect.stringMatching(/^SMTP_URL must be set too/)]);
  expect(problems({ ...to, ALERT_EMAIL_FROM: 'a@example.org' })).toHaveLength(1);
  expect(problems({ SMTP_URL })).toEqual([expect.stringMatching(/^ALERT_EMAIL_TO must be set too/)]);
  const relay = { ...to, SMTP_URL: 'smtp://alerts%40example.org@127.0.0.1:25' };
  expect(problems(relay)).toEqual([]);
  for (const address of ['smtp://127.0.0.1:25', 'smtps://apikey:secret@mail.example.org']) {
    expect(problems({ ...to, SMTP_URL: address })).toEqual([
      expect.stringMatching(/^ALERT_EMAIL_FROM must be set too/),
    ]);
    const ALERT_EMAIL_FROM = 'clinic@example.org';
    const { email } = parseConfig({ ...to, SMTP_URL: address, ALERT_EMAIL_FROM }, families).alerts;
    expect(email).toMatchObject({ from: ALERT_EMAIL_FROM, smtpUrl: address });
  }
  for (const wrong of [
    { ALERT_EMAIL_TO: 'a@example.org,clinic' },
    { ALERT_WEBHOOK_URL: 'secret' },
    { SMTP_URL: 'smtp://secret:99999' },
  ]) {
    const found = problems({ ...relay, ...wrong });
    expect(found).toEqual([expect.stringMatching(`^${Object.keys(wrong)[0]} must be`)]);
    expect(found.join()).not.toContain('secret');
  }
});

it('the reconciliation needs the platform’s address, and a token or a login', () => {
  const address = { SERVICE_BASE_URL: 'http://platform.invalid' };
  expect(parseConfig({}, families).reconcile).toBeUndefined();
  expect(parseConfig({ RECONCILE: '7d', ...address, SERVICE_TOKEN: 't' }, families).reconcile).toEqual({
    days: 7,
  });
  expect(
    problems({ RECONCILE: '7d', ...address, SERVICE_CLIENT_ID: 'c', SERVICE_CLIENT_SECRET: 's' }),
  ).toEqual([]);
  expect(problems({ RECONCILE: '7d' })).toEqual([
    expect.stringContaining('SERVICE_BASE_URL must be set too'),
    expect.stringContaining('SERVICE_CLIENT_ID must be set too'),
    expect.stringContaining('SERVICE_CLIENT_SECRET must be set too'),
  ]);
  expect(problems({ RECONCILE: '7d', ...address, SERVICE_CLIENT_ID: 'c' })).toHaveLength(1);
  for (const RECONCILE of ['7', '0d', '367d', '1y'])
    expect(problems({ RECONCILE, ...address, SERVICE_TOKEN: 't' })).toEqual([
      'RECONCILE must be a number of days from 1d to 366d, such as 7d',
    ]);
});
