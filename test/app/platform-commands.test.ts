import {
  searchTable,
  subscriptionsJson,
  subscriptionsTable,
} from '../../src/app/commands/platform-tables.ts';
import { pathsOf } from '../../src/callbacks/families/family.ts';
import { families as documentedFamilies } from '../../src/callbacks/families/index.ts';
import { eventNames } from '../../src/client/index.ts';
import { parseSettings } from '../../src/client/settings.ts';
import { parseConfig } from '../../src/common/config/config.ts';
import { sandboxCredentials, sandboxToken } from '../../src/sandbox/platform-server.ts';
import { usePlatform } from '../client/platform.ts';
import { run } from './run-platform-command.ts';

const families = documentedFamilies.map(pathsOf);

const platform = usePlatform();
const endpoint = 'https://receiver.example/events';
const env = (fault = 'none') => ({
  SERVICE_BASE_URL: `${platform.sandbox().url}/fault-${fault}`,
  SERVICE_TOKEN: sandboxToken,
});
const lastBody = () => platform.requests().at(-1)?.body as Record<string, string>;

it('search prints a table of drugs or of laboratory tests, or the response as JSON', async () => {
  const drugs = await run(env(), 'search', 'paracetamol', '--limit', '2');
  expect(drugs.out).toMatch(/│ Drug .*│ Generic .*│ Manufacturer .*│ Form .*│ OTC .*│ Id /);
  expect(drugs.out.match(/Paracetamol 500 mg/g)).toHaveLength(2);
  const lab = ['search', 'lipid', '--type', 'lab'];
  expect((await run(env(), ...lab)).out).toMatch(/│ Lipid profile +│ Biochemistry +│ 499\.75 │/);
  const { out } = await run(env(), ...lab, '--json');
  expect(JSON.parse(out)).toMatchObject({ drugs: [], lab_tests: [{ name: 'Lipid profile' }] });
  expect((await run(env(), 'search', 'nothing-like-it')).out).toBe('No results.\n');
});

it.each([
  ['none', ['search', 'a', '--limit', '101'], 64, /limit: Too big/],
  ['400', ['search', 'a'], 65, /responded with 400/],
  ['503', ['search', 'a'], 69, /responded with 503/],
  ['garbage', ['search', 'a'], 76, /not JSON/],
  ['401', ['search', 'a'], 77, /responded with 401/],
])(
  'with the fault %s, %j fails in one line, with an exit code of its own',
  async (fault, args, code, says) => {
    const said = await run(env(fault), ...args);
    expect(said).toMatchObject({ out: '', code, err: expect.stringMatching(says) });
    expect(said.err.trim().split('\n')).toHaveLength(1);
  },
);

it.each([
  [
    {},
    "set SERVICE_BASE_URL to the platform's http(s) address, without credentials; and SERVICE_TOKEN, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET",
  ],
  [
    { SERVICE_BASE_URL: 'http://u:secret@127.0.0.1', SERVICE_TOKEN: 't' },
    "set SERVICE_BASE_URL to the platform's http(s) address, without credentials",
  ],
  [
    { SERVICE_BASE_URL: 'http://127.0.0.1', SERVICE_CLIENT_ID: 'id' },
    'set SERVICE_TOKEN, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET',
  ],
])('with %j, a command says in one line what to set', async (given, message) => {
  const said = await run(given as Record<string, string>, 'search', 'a');
  expect(said).toEqual({ out: '', err: `search: ${message}\n`, code: 78 });
});

it('a token is used rather than a login, and a login where there is none', async () => {
  const { clientId, clientSecret } = sandboxCredentials;
  const login = { SERVICE_CLIENT_ID: clientId, SERVICE_CLIENT_SECRET: clientSecret };
  expect(parseSettings({ ...env(), ...login })).toMatchObject({ token: sandboxToken, clientId });
  const { SERVICE_TOKEN: _, ...rest } = env();
  expect(await run({ ...rest, ...login }, 'search', 'a')).toMatchObject({ err: '', code: 0 });
});

const subscriptions = (given: Record<string, string>, ...args: string[]) =>
  run(given, 'subscriptions', ...args);

it('subscriptions add prints a new key once, as a line for .env, and everything else as explanations', async () => {
  const { out, err, code } = await subscriptions(env(), 'add', '--url', endpoint);
  expect([out, code]).toEqual([expect.stringMatching(/^SIGNING_KEYS=[0-9a-f]{64}\n$/), 0]);
  const { signing_key, ...rest } = lastBody();
  expect(rest).toEqual({ endpoint, event_names: eventNames, protocol: 'https' });
  expect(out).toBe(`SIGNING_KEYS=${signing_key}\n`);
  expect(err).not.toContain(signing_key);
  const { signingKeys } = parseConfig({ SIGNING_KEYS: signing_key }, families).authentication;
  expect(signingKeys).toEqual([signing_key]);
});

it('subscriptions add signs with the first of SIGNING_KEYS, and prints none', async () => {
  const events = ['--events', ' receipt.created, receipt.sent,,receipt.created'];
  const said = await subscriptions(
    { ...env(), SIGNING_KEYS: ' ours, former' },
    'add',
    '--url',
    endpoint,
    ...events,
  );
  expect(said).toMatchObject({ out: '', code: 0, err: expect.stringContaining('created: 2 events') });
  expect(said.err).toContain('Not a documented event: receipt.sent\n');
  expect(lastBody()).toMatchObject({ signing_key: 'ours', event_names: ['receipt.created', 'receipt.sent'] });
});

it.each([
  ['400', 65],
  ['lost', 69],
  ['garbage', 76],
])(
  'after %s, subscriptions add prints no key, and says that there may be a subscription',
  async (fault, code) => {
    const said = await subscriptions(env(fault), 'add', '--url', endpoint);
    expect(said).toMatchObject({ out: '', code });
    expect(said.err).toContain('may have a subscription already: see `receiver subscriptions list`');
    expect(said.err).not.toContain(lastBody().signing_key);
    expect(platform.requests()).toHaveLength(1);
  },
);

it.each([
  ['--url', 'receiver.example'],
  ['--events', ','],
])('subscriptions add refuses %s %s, and sends nothing', async (option, value) => {
  const said = await subscriptions(env(), 'add', '--url', endpoint, option, value);
  expect(said).toMatchObject({ out: '', code: 1, err: expect.stringContaining(`'${option} <`) });
  expect(platform.requests()).toEqual([]);
});

it('subscriptions are listed without keys, and removed', async () => {
  expect((await subscriptions(env(), 'list')).out).toBe('No subscriptions.\n');
  await subscriptions(env(), 'add', '--url', endpoint);
  const { signing_key } = lastBody();
  const table = await subscriptions(env(), 'list');
  expect(table.out).toMatch(/│ all +│ https:\/\/receiver.example\/events │ https +│ 20\d\d-/);
  const json = await subscriptions(env(), 'list', '--json');
  for (const { out, err } of [table, json]) expect(out + err).not.toContain(signing_key);
  const [{ id }] = JSON.parse(json.out) as [{ id: string }];
  expect(await subscriptions(env(), 'remove', id)).toEqual({
    out: 'Subscription removed.\n',
    err: '',
    code: 0,
  });
  const again = await subscriptions(env(), 'remove', id);
  expect(again).toMatchObject({ code: 65, err: expect.stringContaining('responded with 404') });
});

it('tables have no undocumented field, which might be a key, and control no terminal', () => {
  const subscription = {
    id: '\u001b[2Ja',
    signing_key: 'secret-1',
    old_key: 'secret-2',
    event_names: ['\u202eb\n'],
  };
  const tables = [
    subscriptionsTable([subscription]),
    subscriptionsJson([{ ...subscription, id: 'a', event_names: [] }]),
    searchTable({ drugs: [{ name: '\u001b[2JEvil\u202etxt\n' }] as never, lab_tests: [] }),
  ];
  for (const text of tables)
    for (const part of ['secret', '\u001b', '\u202e']) expect(text).not.toContain(part);
});
