import { Command, CommanderError } from 'commander';
import { addClientCommands } from '../../src/app/commands/platform.ts';
import { pathsOf } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { eventNames } from '../../src/client/index.ts';
import { parseSettings } from '../../src/client/settings.ts';
import { parseConfig } from '../../src/common/config/config.ts';
import { sandboxCredentials, sandboxToken } from '../../src/sandbox/platform-server.ts';
import { usePlatform, useResponses } from '../client/platform.ts';

const platform = usePlatform();
const { respond } = useResponses();

/** Runs a command in this process. @returns its output, its errors and its exit code */
async function run(env: Record<string, string>, ...args: string[]) {
  const result = { out: '', err: '', code: 0 };
  const capture = (stream: NodeJS.WriteStream, name: 'out' | 'err') =>
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      result[name] += text;
      return true;
    });
  capture(process.stdout, 'out');
  capture(process.stderr, 'err');
  const program = new Command('receiver').showHelpAfterError().exitOverride();
  addClientCommands(program, env);
  await program
    .parseAsync(args, { from: 'user' })
    .catch((error: unknown) => {
      result.code = error instanceof CommanderError ? error.exitCode : 1;
      result.err += `${(error as Error).message}\n`;
    })
    .finally(() => jest.restoreAllMocks());
  return result;
}

const endpoint = 'https://receiver.example/events';
const env = (fault = 'none') => ({
  SERVICE_BASE_URL: `${platform.sandbox().url}/fault-${fault}`,
  SERVICE_TOKEN: sandboxToken,
});
const lastBody = () => platform.requests().at(-1)?.body as Record<string, string>;

it('search prints a table of drugs or of laboratory tests', async () => {
  const drugs = await run(env(), 'drugs', 'paracetamol', '--limit', '2');
  expect(drugs.out).toMatch(/│ Drug .*│ Generic .*│ Manufacturer .*│ Form .*│ OTC .*│ Id /);
  expect(drugs.out.match(/Paracetamol 500 mg/g)).toHaveLength(2);
  const lab = ['drugs', 'lipid', '--type', 'lab'];
  expect((await run(env(), ...lab)).out).toMatch(/│ Lipid profile +│ Biochemistry +│ 499\.75 │/);
  expect((await run(env(), 'search', 'nothing-like-it')).out).toBe('No results.\n');
});

const address = "SERVICE_BASE_URL to the platform's http(s) address, without credentials";
const credentials = 'SERVICE_TOKEN, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET';

it.each<[Record<string, string>, string]>([
  [{}, `set ${address}; and ${credentials}`],
  [{ SERVICE_BASE_URL: 'http://u:secret@127.0.0.1', SERVICE_TOKEN: 't' }, `set ${address}`],
  [{ SERVICE_BASE_URL: 'http://127.0.0.1', SERVICE_CLIENT_ID: 'id' }, `set ${credentials}`],
])('with %j, a command says in one line what to set', async (settings, message) => {
  expect(await run(settings, 'search', 'a')).toEqual({ out: '', err: `${message}\n`, code: 1 });
});

it('a token is used rather than a login, and a login where there is none', async () => {
  const { clientId, clientSecret } = sandboxCredentials;
  const login = { SERVICE_CLIENT_ID: clientId, SERVICE_CLIENT_SECRET: clientSecret };
  expect(parseSettings({ ...env(), ...login })).toMatchObject({ token: sandboxToken, clientId });
  const { SERVICE_TOKEN: _, ...rest } = env();
  expect(await run({ ...rest, ...login }, 'search', 'a')).toMatchObject({ err: '', code: 0 });
});

const subscriptions = (settings: Record<string, string>, ...args: string[]) =>
  run(settings, 'subscriptions', ...args);
const add = (settings: Record<string, string>, ...args: string[]) =>
  subscriptions(settings, 'add', '--url', endpoint, ...args);

it('subscriptions add prints a new key once, as a line for .env, and everything else as explanations', async () => {
  const { out, err, code } = await add(env());
  expect([out, code]).toEqual([expect.stringMatching(/^SIGNING_KEYS=[0-9a-f]{64}\n$/), 0]);
  const { signing_key, ...rest } = lastBody();
  expect(rest).toEqual({ endpoint, event_names: eventNames, protocol: 'https' });
  expect(out).toBe(`SIGNING_KEYS=${signing_key}\n`);
  expect(err).not.toContain(signing_key);
  const { signingKeys } = parseConfig({ SIGNING_KEYS: signing_key }, families.map(pathsOf)).authentication;
  expect(signingKeys).toEqual([signing_key]);
});

it('subscriptions add signs with the first of SIGNING_KEYS, and prints none', async () => {
  const names = ' receipt.created, receipt.sent,,receipt.created';
  const { out, err, code } = await add({ ...env(), SIGNING_KEYS: ', ours, former' }, '--events', names);
  expect([out, code]).toEqual(['', 0]);
  expect(err).toMatch(/Not a documented event: receipt\.sent\nSubscription .* created: 2 events/);
  expect(lastBody()).toMatchObject({ signing_key: 'ours', event_names: ['receipt.created', 'receipt.sent'] });
});

it('after a failure, subscriptions add prints no key, and is not sent again', async () => {
  for (const [index, fault] of ['400', 'lost', 'garbage'].entries()) {
    const { out, err, code } = await add(env(fault));
    expect([out, code]).toEqual(['', 1]);
    expect(err).not.toContain(lastBody().signing_key);
    expect(platform.requests()).toHaveLength(index + 1);
  }
});

it.each([
  ['--url', 'receiver.example'],
  ['--events', ','],
])('subscriptions add refuses %s %s, and sends nothing', async (option, value) => {
  const { out, err, code } = await add(env(), option, value);
  expect([out, code]).toEqual(['', 1]);
  expect(err).toContain(`'${option} <`);
  expect(platform.requests()).toEqual([]);
});

it('subscriptions are listed without keys, and removed', async () => {
  expect((await subscriptions(env(), 'list')).out).toBe('No subscriptions.\n');
  await add(env());
  const { signing_key } = lastBody();
  const table = await subscriptions(env(), 'list');
  expect(table.out).toMatch(/│ all +│ https:\/\/receiver.example\/events │ https +│ 20\d\d-/);
  expect(table.out + table.err).not.toContain(signing_key);
  const [id] = /[0-9a-f-]{36}/.exec(table.out)!;
  const remove = () => subscriptions(env(), 'remove', id);
  expect(await remove()).toEqual({ out: 'Subscription removed.\n', err: '', code: 0 });
  expect(await remove()).toMatchObject({ code: 1, err: expect.stringContaining('responded with 404') });
});

it('no output has an undocumented field, which might be a key, or controls a terminal', async () => {
  const control = '\u001b[2J\u202e\n';
  const subscription = { id: 'a', signing_key: 'secret-1', old_key: 'secret-2', endpoint: control };
  const listing = { ...env(), SERVICE_BASE_URL: respond(200, JSON.stringify({ data: [subscription] })) };
  const { out, err } = await subscriptions(listing, 'list');
  expect(out).toContain('\\u001b[2J');
  for (const part of ['secret', '\u001b', '\u202e']) expect(out + err).not.toContain(part);
});
