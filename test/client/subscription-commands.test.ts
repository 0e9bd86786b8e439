import { subscriptionsJson, subscriptionsTable } from '../../src/client/commands/tables.ts';
import { eventNames } from '../../src/client/index.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { run } from './run-command.ts';

const url = 'https://receiver.example/events';
const created = `Subscription [0-9a-f-]{36} created: ${eventNames.length} events\\.\\n`;
let sandbox: Sandbox;
let env: Record<string, string>;

beforeEach(async () => {
  sandbox = await startSandbox();
  env = { SERVICE_BASE_URL: sandbox.url, SERVICE_TOKEN: sandboxToken };
});
afterEach(() => sandbox.close());

const subscriptions = (...args: string[]) => run(env, 'subscriptions', ...args);
const withFault = (fault: string) => {
  env.SERVICE_BASE_URL = `${sandbox.url}/fault-${fault}`;
};
const lastBody = () => sandbox.requests.at(-1)?.body as Record<string, string>;
const listed = async () => JSON.parse((await subscriptions('list', '--json')).out) as { id: string }[];

describe('subscriptions add', () => {
  it('prints the new key as a line for .env, and everything else as explanations', async () => {
    const { out, err, code } = await subscriptions('add', '--url', url);
    expect(code).toBe(0);
    expect(out).toMatch(/^SIGNING_KEYS=[0-9a-f]{64}\n$/);
    const { endpoint, event_names, protocol, signing_key } = lastBody();
    expect({ endpoint, event_names, protocol }).toEqual({
      endpoint: url,
      event_names: eventNames,
      protocol: 'https',
    });
    expect(out).toBe(`SIGNING_KEYS=${signing_key}\n`);
    expect(err).not.toContain(signing_key);
    expect(err).toMatch(new RegExp(`^${created}(.*\\n)*.*SIGNING_KEYS=<new>,<old>\\n$`));
    const { signingKeys } = parseConfig({ SIGNING_KEYS: signing_key }, families).authentication;
    expect(signingKeys).toEqual([signing_key]);
  });

  it('uses the first of SIGNING_KEYS with --existing-key, and prints none', async () => {
    env.SIGNING_KEYS = ' ours, former';
    const said = await subscriptions('add', '--url', url, '--existing-key');
    expect(said).toMatchObject({ out: '', code: 0 });
    expect(said.err).toMatch(new RegExp(`^${created}$`));
    expect(lastBody()).toMatchObject({ signing_key: 'ours' });
    withFault('lost');
    const lost = await subscriptions('add', '--url', `${url}/second`, '--existing-key');
    expect(lost.err).toContain('The subscription may exist all the same. If');
  });

  it('sends nothing with --existing-key if there is none', async () => {
    const said = await subscriptions('add', '--url', url, '--existing-key');
    expect(said).toEqual({
      out: '',
      err: 'subscriptions add: set SIGNING_KEYS for --existing-key\n',
      code: 78,
    });
    expect(sandbox.requests).toEqual([]);
  });

  it('makes another key each time', async () => {
    const first = await subscriptions('add', '--url', url);
    const second = await subscriptions('add', '--url', `${url}/second`);
    expect(first.out).not.toBe(second.out);
  });

  it('subscribes to the given events, and says which of them are not documented', async () => {
    const args = ['--events', ' receipt.created, receipt.sent,,receipt.created', '--protocol', 'http'];
    const { err } = await subscriptions('add', '--url', url, ...args);
    expect(lastBody()).toMatchObject({ event_names: ['receipt.created', 'receipt.sent'], protocol: 'http' });
    expect(err).toContain('Not a documented event: receipt.sent\n');
    expect(err).toContain('created: 2 events');
  });

  it('prints no key if the endpoint is registered already, and says how to replace the subscription', async () => {
    await subscriptions('add', '--url', url);
    const said = await subscriptions('add', '--url', url);
    expect(said).toMatchObject({ out: '', code: 65 });
    expect(said.err).toContain('subscriptions add: createSubscription: the platform responded with 400');
    expect(said.err).toContain(
      'registered already. Find its subscription with `receiver subscriptions list`',
    );
    expect(said.err).not.toContain(lastBody().signing_key);
  });

  it.each([
    ['lost', 69],
    ['500', 69],
    ['redirect', 76],
    ['garbage', 76],
  ])('prints no key if the response is %s, and says that the subscription may exist', async (fault, code) => {
    withFault(fault);
    const said = await subscriptions('add', '--url', url);
    expect(said).toMatchObject({ out: '', code });
    expect(said.err).toContain('The subscription may exist all the same, with a key that nobody has');
    expect(said.err).not.toContain(lastBody().signing_key);
    expect(sandbox.requests).toHaveLength(1);
  });

  it('what it says to do after a lost response works', async () => {
    withFault('lost');
    await subscriptions('add', '--url', url);
    withFault('none');
    const [{ id }] = (await listed()) as [{ id: string }];
    expect((await subscriptions('remove', id)).code).toBe(0);
    const { out } = await subscriptions('add', '--url', url);
    expect(out).toBe(`SIGNING_KEYS=${lastBody().signing_key}\n`);
  });

  it.each(['401', '404'])('says nothing about a subscription that cannot exist: %s', async (fault) => {
    withFault(fault);
    const said = await subscriptions('add', '--url', url);
    expect(said.out).toBe('');
    expect(said.err.trim().split('\n')).toHaveLength(1);
  });

  it.each([
    ['--url', 'receiver.example'],
    ['--url', 'ftp://receiver.example'],
    ['--events', ','],
  ])('rejects %s %s, and sends nothing', async (option, value) => {
    const said = await subscriptions('add', '--url', url, option, value);
    expect(said).toMatchObject({ out: '', code: 1 });
    expect(said.err).toContain(`'${option} <`);
    expect(sandbox.requests).toEqual([]);
  });
});

describe('subscriptions list', () => {
  it('prints id, events, endpoint, protocol and time, never a key', async () => {
    await subscriptions('add', '--url', url, '--events', 'receipt.created,mcert.created');
    const { signing_key } = lastBody();
    const table = await subscriptions('list');
    expect(table.out).toMatch(/│ Id .*│ Events .*│ Endpoint .*│ Protocol .*│ Created /);
    expect(table.out).toMatch(/│ receipt.created │ https:\/\/receiver.example\/events │ https +│ 20\d\d-/);
    expect(table.out).toMatch(/│ mcert.created +│/);
    const json = await subscriptions('list', '--json');
    expect(JSON.parse(json.out)).toMatchObject([
      { endpoint: url, event_names: ['receipt.created', 'mcert.created'] },
    ]);
    for (const { out, err } of [table, json]) expect(out + err).not.toContain(signing_key);
  });

  it('says all for every documented event, and so when there are none', async () => {
    expect((await subscriptions('list')).out).toBe('No subscriptions.\n');
    await subscriptions('add', '--url', url);
    expect((await subscriptions('list')).out).toMatch(/│ all +│/);
  });

  it('prints times of any spelling', () => {
    const times = [1_767_225_600, 1_767_225_600_000, '2026-01-01T00:00:00Z', 1e300, null, {}];
    const table = subscriptionsTable(times.map((created_at, index) => ({ id: `s${index}`, created_at })));
    const cells = Array.from(table.matchAll(/│ s\d .*│ *(.*?) *│$/gm), ([, cell]) => cell);
    const iso = '2026-01-01T00:00:00.000Z';
    expect(cells).toEqual([iso, iso, '2026-01-01T00:00:00Z', '1e+300', '', '']);
  });

  it('prints no undocumented field: it might be a key', () => {
    const subscription = { id: 'a', signing_key: 'secret-1', old_signing_key: 'secret-2' };
    expect(subscriptionsJson([subscription]) + subscriptionsTable([subscription])).not.toContain('secret');
  });

  it('lets no name from the platform control the terminal', () => {
    const table = subscriptionsTable([{ id: '\u001b[2Ja', event_names: ['\u202eb\n'], endpoint: '\u0007' }]);
    for (const character of ['\u001b', '\u202e', '\u0007']) expect(table).not.toContain(character);
    expect(table.split('\n')).toHaveLength(5);
  });
});

describe('subscriptions remove', () => {
  it('deletes the subscription', async () => {
    await subscriptions('add', '--url', url);
    const [{ id }] = (await listed()) as [{ id: string }];
    expect(await subscriptions('remove', id)).toEqual({ out: 'Subscription removed.\n', err: '', code: 0 });
    expect(await listed()).toEqual([]);
  });

  it('fails if there is none', async () => {
    const said = await subscriptions('remove', 'unknown');
    expect(said).toMatchObject({ out: '', code: 65 });
    expect(said.err).toMatch(/^subscriptions remove: deleteSubscription: the platform responded with 404/);
  });
});
