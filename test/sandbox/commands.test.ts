import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { addSandboxCommands } from '../../src/sandbox/commands.ts';
import { documentedEvents } from '../../src/sandbox/families.ts';
import { receiverAddress } from '../../src/sandbox/send-options.ts';
import { accept, startReceiver } from './receiver.ts';

let receiver: Awaited<ReturnType<typeof startReceiver>>;
let folder: string;
beforeEach(async () => {
  receiver = await startReceiver(accept);
  folder = await mkdtemp(join(tmpdir(), 'send-'));
});
afterEach(async () => {
  await receiver.close();
  await rm(folder, { recursive: true });
  process.exitCode = undefined;
});

type UntilEnd = Parameters<typeof addSandboxCommands>[2];

function run(env: Record<string, string>, ...args: string[]) {
  return runUntil(undefined, env, args);
}

async function runUntil(
  untilEnd: UntilEnd,
  env: Record<string, string>,
  args: string[],
  watch?: (said: { readonly out: string }) => void,
) {
  const said = { out: '', err: '', code: 0 };
  watch?.(said);
  const program = new Command('receiver').exitOverride().configureOutput({
    writeOut: (text) => {
      said.out += text;
    },
    writeErr: (text) => {
      said.err += text;
    },
  });
  addSandboxCommands(program, env, untilEnd);
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error;
    said.code = error.exitCode;
  });
  return said;
}

it('sends to the documented paths and ends with a summary', async () => {
  const { out } = await run({}, 'send', '--url', receiver.url, '--count', '60', '--seed', '5');
  const documented = new Map(documentedEvents.map(({ event, path }) => [event, path]));
  for (const { path, body } of receiver.got) {
    const { event, event_type = event } = JSON.parse(String(body));
    expect(path).toBe(documented.get(event_type));
  }
  expect(out).toMatch(/^sent {5}60 callbacks in [\d.]+ s \(\d+\/s\), 60 acknowledged, 0 resent$/m);
  expect(out).toMatch(/^outcomes 200 accepted 60$/m);
  expect(out).toMatch(/^latency {2}p50 [\d.]+ ms · p95 [\d.]+ ms · p99 [\d.]+ ms · max [\d.]+ ms$/m);
  expect(out).toMatch(/^repeat {3}--seed 5 --start \d{4}-\d\d-\d\dT03:30:00.000Z$/m);
  expect(process.exitCode).toBeUndefined();
});

it('sends all events in both spellings, until families, spelling and path are given', async () => {
  const sent = async (...args: string[]) => {
    receiver.got.length = 0;
    await run({}, 'send', '--url', receiver.url, '--count', '1200', '--seed', '5', ...args);
    const bodies = receiver.got.map((g) => JSON.parse(String(g.body)));
    return {
      events: new Set(bodies.map(({ event, event_type = event }) => event_type)),
      spellings: new Set(bodies.map((body) => ('event_type' in body ? 'platform' : 'contract'))),
      paths: new Set(receiver.got.map((g) => g.path)),
    };
  };
  const { events, spellings, paths } = await sent();
  expect(events).toEqual(new Set(documentedEvents.map(({ event }) => event)));
  expect(paths).toEqual(new Set(documentedEvents.map(({ path }) => path)));
  expect(spellings).toEqual(new Set(['contract', 'platform']));

  const options = ['--families', 'payment_request,consent_form', '--spelling', 'platform', '--to', 'events'];
  expect(await sent(...options)).toEqual({
    events: new Set(['receipt_payment.requested', 'mcert.created', 'mcert.updated']),
    spellings: new Set(['platform']),
    paths: new Set(['/events']),
  });
});

it('takes host, port, paths, key and header from the environment', async () => {
  const { hostname, port } = new URL(receiver.url);
  const env = {
    HOST: hostname,
    PORT: port,
    RECEIPTS_PATH: '/r/unguessable',
    CONSENT_FORMS_PATH: '/c/unguessable',
    REVIEW_REQUESTS_PATH: '/g/unguessable',
    SIGNING_KEYS: 'first,second',
    SIGNATURE_HEADER: 'X-Our-Signature',
  };
  const names = 'receipt,consent_form,review_request';
  await run(env, 'send', '--count', '100', '--seed', '1', '--families', names);
  expect(new Set(receiver.got.map((g) => g.path))).toEqual(
    new Set(['/r/unguessable', '/c/unguessable', '/g/unguessable']),
  );
  expect(receiver.got[0]?.headers['x-our-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
});

it('repeats a run with the printed seed and start', async () => {
  const first = await run({}, 'send', '--url', receiver.url, '--count', '30');
  const again = /^repeat {3}(.+)$/m.exec(first.out)![1]!.split(' ');
  await run({}, 'send', '--url', receiver.url, '--count', '30', ...again);
  const bodies = receiver.got.map((g) => g.body.toString());
  expect(bodies.slice(30).sort()).toEqual(bodies.slice(0, 30).sort());
});

it('sends the shares of duplicates and invalid callbacks, and writes a ledger', async () => {
  const ledger = join(folder, 'ledger');
  const shares = ['--duplicates', '30%', '--invalid', '20%', '--shuffle'];
  await run(
    {},
    'send',
    '--url',
    receiver.url,
    '--count',
    '300',
    '--seed',
    '2',
    '--ledger',
    ledger,
    ...shares,
  );
  expect(receiver.got).toHaveLength(300);
  expect(new Set(receiver.got.map((g) => g.body.toString())).size).toBeLessThan(295);
  const lines = (await readFile(ledger, 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(300);
  expect(Object.keys(JSON.parse(lines[0]!))).toEqual(['id', 'event', 'business_id', 'status']);
});

it('sends a past until now, writes its names, and prints what repeats it', async () => {
  const names = join(folder, 'names.csv');
  const args = ['send', '--url', receiver.url, '--history', '3d', '--seed', '4', '--aliases', names];
  const { out } = await run({ SIGNING_KEYS: 'first' }, ...args);
  const sent = Number(/^sent {5}(\d+) callbacks/m.exec(out)![1]);
  expect(sent).toBeGreaterThan(100);
  expect(receiver.got).toHaveLength(sent);
  expect(receiver.got.every(({ headers }) => /^t=/.test(String(headers['x-webhook-signature'])))).toBe(true);
  expect(out).toMatch(/^repeat {3}--history 3d --seed 4 --start \d{4}-\d\d-\d\dT18:30:00.000Z$/m);
  expect(await readFile(names, 'utf8')).toMatch(/^kind,id,alias\nbusiness,\d{15},Sunrise Clinics\nclinic,/);

  const nowhere = join(folder, 'nowhere', 'names.csv');
  const said = await run({}, ...args.slice(0, -1), nowhere);
  expect(said).toMatchObject({ err: `send: cannot write the names ${nowhere} (ENOENT)\n`, code: 73 });
});

it('exits with 1 when a valid callback was not acknowledged', async () => {
  await receiver.close();
  const { out } = await run({}, 'send', '--url', receiver.url, '--count', '3');
  expect(out).toContain('ECONNREFUSED 3');
  expect(process.exitCode).toBe(1);
  receiver = await startReceiver(accept);
});

it('reports in one line that it cannot write the ledger', async () => {
  const ledger = join(folder, 'nowhere', 'ledger');
  const said = await run({}, 'send', '--url', receiver.url, '--ledger', ledger);
  expect(said).toEqual({ out: '', err: `send: cannot write the ledger ${ledger} (ENOENT)\n`, code: 73 });
  expect(receiver.got).toEqual([]);
});

it.each([
  ['--duplicates', '200%'],
  ['--invalid', 'some'],
  ['--rate', '0'],
  ['--connections', '0'],
  ['--count', '-1'],
  ['--families', 'receipts'],
  ['--spelling', 'ours'],
  ['--to', 'nowhere'],
  ['--start', 'soon'],
  ['--url', 'ftp://127.0.0.1'],
])('rejects %s %s', async (option, value) => {
  const said = await run({}, 'send', `${option}=${value}`);
  expect(said.code).toBe(1);
  expect(said.err).toContain(`'${option} <`);
});

it('serves the sandbox and sends callbacks on its own schedule until it is interrupted', async () => {
  const interrupt = new AbortController();
  await receiver.close();
  receiver = await startReceiver((got, response, count) => {
    accept(got, response, count);
    if (count === 20) interrupt.abort();
  });
  const args = ['sandbox', '--port', '0', '--token', 'ours', '--send-to', receiver.url, '--rate', '1000'];
  const { out } = await runUntil((work) => work(interrupt.signal), { SIGNING_KEYS: 'key' }, args);
  expect(out).toMatch(/^export SERVICE_BASE_URL=http:\/\/127\.0\.0\.1:\d+ SERVICE_TOKEN=ours$/m);
  expect(out).toMatch(/^sent {5}\d+ callbacks/m);
  expect(receiver.got.length).toBeGreaterThanOrEqual(20);
  expect(receiver.got[0]?.headers).toHaveProperty('x-webhook-signature');
});

it('rejects more gaps than there are appointments', async () => {
  expect(await run({}, 'sandbox', '--port', '0', '--unsent', '3')).toEqual({
    out: '',
    err: 'sandbox: at least 3 appointments are needed\n',
    code: 64,
  });
});

it('reports in one line that the sandbox cannot listen', async () => {
  const { port } = new URL(receiver.url);
  const said = await run({}, 'sandbox', '--port', port);
  expect(said).toEqual({
    out: '',
    err: `sandbox: cannot listen on 127.0.0.1:${port} (EADDRINUSE)\n`,
    code: 69,
  });
});

it.each([
  [{}, 'http://127.0.0.1:8080'],
  [{ HOST: '0.0.0.0', PORT: '9000' }, 'http://127.0.0.1:9000'],
  [{ HOST: '::1' }, 'http://[::1]:8080'],
])('finds the receiver of %j at %s', (env, address) => {
  expect(receiverAddress(env)).toBe(address);
});

it('an endless run sends no event before it has happened, and goes on in the present', async () => {
  const stopping = new AbortController();
  const began = Date.now();
  const late: number[] = [];
  const early: unknown[] = [];
  await receiver.close();
  receiver = await startReceiver((got, response, count) => {
    const { event_time } = JSON.parse(String(got.body)) as { event_time: number };
    const time = event_time > 1e11 ? event_time : event_time * 1000;
    if (time > Date.now()) early.push(event_time);
    if (time >= began) late.push(time);
    if (late.length > 100) stopping.abort();
    accept(got, response, count);
  });
  const start = new Date(began - 60_000).toISOString();
  const flags = ['--url', receiver.url, '--count', '0', '--start', start, '--spelling', 'contract'];
  await runUntil((work) => work(stopping.signal), {}, ['send', ...flags]);
  expect(early).toEqual([]);
  expect(late.length).toBeGreaterThan(100);
});
