import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { addDestinationsCommand } from '../../src/feed/commands.ts';
import { checkDestinations, findDue } from '../../src/feed/destinations.ts';
import { sendChanges } from '../../src/feed/send.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { createCopy } from '../support/database.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { change, closeLater, createRandom, type Item, listen, openCore, positions } from './support.ts';

const database = useReceiverDatabase('test');
const dayMs = 86_400_000;

/** An endpoint that verifies signatures. `respond` is called for each request; default: 200 */
async function startEndpoint() {
  const endpoint = {
    url: '',
    secret: '',
    respond: (res: ServerResponse, _item: Item): unknown => res.end('thanks'),
    requests: [] as { id: string; type: string; data: Item }[],
    accepted: [] as Item[],
    open: 0,
    maxOpen: 0,
  };
  endpoint.url = await listen(async (req, res) => {
    const headers = req.headers as Record<string, string>;
    const message = new Webhook(endpoint.secret).verify(await text(req), headers) as {
      type: string;
      data: Item;
    };
    endpoint.requests.push({ id: headers['webhook-id']!, ...message });
    endpoint.open += 1;
    endpoint.maxOpen = Math.max(endpoint.open, endpoint.maxOpen);
    res.once('close', () => {
      endpoint.open -= 1;
    });
    await endpoint.respond(res, message.data);
    if (res.headersSent && res.statusCode === 200) endpoint.accepted.push(message.data);
  });
  return endpoint;
}

type Endpoint = Awaited<ReturnType<typeof startEndpoint>>;

/** It accepts, and its answer never ends. */
function neverEnd(res: ServerResponse) {
  const write = () => res.write('x'.repeat(1_000));
  write();
  const timer = setInterval(write, 1);
  res.once('close', () => clearInterval(timer));
}

/** Runs `receiver destinations …`. @returns what it prints */
const run = (core: Core, ...args: string[]): Promise<string> =>
  runCommand(core, addDestinationsCommand, 'destinations', ...args);

/** Adds a destination that gets all receipts. @returns its id */
async function add(core: Core, endpoint: Endpoint) {
  const output = await run(core, 'add', endpoint.url, '--families', 'receipt', '--all');
  endpoint.secret = /whsec_\S+/.exec(output)![0];
  return /^d-\w+/.exec(output)![0];
}

/** Sends until the test ends, or the returned function is called. */
function send(core: Core, times: Partial<Core['config']['times']> = {}) {
  const stopping = new AbortController();
  const config = { ...core.config, times: { ...core.config.times, ...times } };
  const sending = sendChanges({ ...core, config }, stopping.signal);
  const stop = () => {
    stopping.abort();
    return sending;
  };
  closeLater(stop);
  return stop;
}

it('an endpoint that fails in any way, and killed senders, get each change at least once, in order', async () => {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  await add(core, endpoint);
  const random = createRandom(11);
  const ways: ((res: ServerResponse) => unknown)[] = [
    (res) => res.writeHead(503).end('later'),
    (res) => res.writeHead(302, { Location: endpoint.url }).end(),
    (res) => res.destroy(),
    (res) => res.socket!.end('SSH-2.0-none\r\n\0\0'),
    () => {}, // It hangs.
    neverEnd,
  ];
  endpoint.respond = (res) => (random() < 0.7 ? res.end() : ways[Math.floor(random() * ways.length)]!(res));
  const times = JSON.stringify({ ...core.config.times, webhookMs: 200 });
  const file = join(import.meta.dirname, 'send-process.ts');
  for (let round = 1; round <= 4; round++) {
    const sender = spawn(process.execPath, ['--import', 'tsx', file, database.url, times], {
      stdio: 'inherit',
    });
    const exit = once(sender, 'exit');
    closeLater(() => sender.kill('SIGKILL'));
    const target = endpoint.requests.length + 20;
    for (let n = 0; n < 25; n++) await change(core, n % 9, { net_amount: round + n / 100 });
    const last = (await positions(database)).at(-1);
    await until(() =>
      round < 4 ? endpoint.requests.length > target : endpoint.accepted.at(-1)?.version === last,
    );
    sender.kill('SIGKILL');
    await exit;
  }
  const versions = endpoint.accepted.map(({ version }) => version);
  expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  expect([...new Set(versions)]).toEqual(await positions(database));
  expect(endpoint.requests.length).toBeGreaterThan(versions.length);
});

it('a destination that hangs delays no other, and two processes send it one change at a time', async () => {
  const core = openCore(database);
  const [slow, slower] = [await startEndpoint(), await startEndpoint()];
  const [endless, good] = [await startEndpoint(), await startEndpoint()];
  for (const endpoint of [slow, slower]) endpoint.respond = () => {};
  endless.respond = neverEnd;
  for (const endpoint of [slow, slower, endless, good]) await add(core, endpoint);
  const stops = [send(core), send(core)];
  for (let id = 1; id <= 30; id++) await change(core, id);
  await until(() => good.accepted.length === 30 && endless.accepted.length === 30 && endless.open === 0);
  expect([good, slow, slower]).toMatchObject([{ maxOpen: 1 }, { requests: [{}] }, { requests: [{}] }]);
  await Promise.all(stops.map((stop) => stop()));
  await database.rows('update receiver.destinations set next_at = now()');
  send(core, { webhookMs: 50 });
  await until(() => slow.requests.length > 3);
  expect(slow.maxOpen).toBe(1);
});

it('a waiting change is logged and sent as the record is then, with one id for all attempts', async () => {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  const id = await add(core, endpoint);
  endpoint.respond = (res, { record }) => res.writeHead(record!.name === null ? 200 : 500).end();
  await change(core, 1, { name: 'Asha' }, 'created');
  send(core);
  await until(() => endpoint.requests.length > 2);
  await change(core, 1, { name: null });
  await until(() => endpoint.accepted.length === 2);
  const [first, ...others] = endpoint.requests;
  expect(first).toMatchObject({ type: 'receipt.changed', data: { record: { name: 'Asha' } } });
  expect(others.at(-2)).toMatchObject({ id: first!.id, data: { record: { name: null } } });
  expect(others.at(-1)!.id).not.toBe(first!.id);
  const entries = await database.rows(`select rows from access_log where actor_name = '${id}'`);
  expect(entries).toEqual(endpoint.requests.map(() => ({ rows: 1 })));
});

it('a copy of the database sends nothing until its destinations are confirmed', async () => {
  const original = openCore(database, { publicUrl: 'https://receiver.example.org' });
  const [endpoint, own] = [await startEndpoint(), await startEndpoint()];
  const id = await add(original, endpoint);
  await change(original, 1);
  const copied = await createCopy(database);
  closeLater(copied.close);
  const copy = openCore(copied as never, original.config);
  expect(await findDue(original)).toEqual([id]);
  expect(await findDue(openCore(database, { publicUrl: 'https://test.example.org' }))).toEqual([]);
  await add(copy, own);
  send(copy);
  await until(() => own.accepted.length === 1);
  expect(endpoint.requests).toEqual([]);
  const [check] = await checkDestinations(copy);
  expect(check).toMatchObject({ about: id, status: 'fail', todo: expect.stringContaining(`resume ${id}`) });
  await run(copy, 'resume', id);
  await until(() => endpoint.accepted.length === 1);
});

it('a change that is refused for days pauses its destination, and can be skipped', async () => {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  const id = await add(core, endpoint);
  const check = async () => (await checkDestinations(core))[0]!;
  const dueSince = (days: number) =>
    database.rows(
      `update receiver.destinations set next_at = now(), failing_since = now() - $1 * interval '1 day'`,
      [days],
    );
  await expect(run(core, 'skip', id)).rejects.toThrow('no change that it has not accepted');
  endpoint.respond = (res, item) => res.writeHead(item.id === '1' ? 422 : 200).end();
  for (const one of [1, 2]) await change(core, one);
  send(core, { webhookPauseMs: 3_600_000, maxWebhookPauseMs: dayMs });
  const attempts = async () =>
    (await database.rows('select attempts from receiver.destinations'))[0]!.attempts;
  await until(async () => (await attempts()) === 1);
  expect(await run(core, 'list')).toContain('422');
  expect(await check()).toMatchObject({ status: 'warn', detail: expect.stringContaining('422') });
  await dueSince(2.9);
  await until(async () => (await attempts()) === 2);
  expect(endpoint.requests).toHaveLength(2);
  const [row] = await database.rows(
    'select extract(epoch from next_at - now())::float / 3600 as hours from receiver.destinations',
  );
  expect(Math.abs((row!.hours as number) - 2)).toBeLessThan(0.6); // Twice the first pause, and a quarter of jitter
  expect(await check()).toMatchObject({ status: 'warn', since: expect.any(Date) });
  await dueSince(3.1);
  await until(async () => (await check()).status === 'fail');
  expect((await check()).todo).toMatch(/resume.*skip/);
  await dueSince(0);
  expect(await findDue(core)).toEqual([]);
  expect(await run(core, 'skip', id)).toContain('receipt 1 is skipped');
  await run(core, 'resume', id);
  await until(() => endpoint.accepted.length === 1);
  expect(endpoint.requests.map(({ data }) => data.id)).toEqual(['1', '1', '1', '2']);
});

it('the last attempt decides about the check, and Retry-After about the next one', async () => {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  await add(core, endpoint);
  const check = async () => (await checkDestinations(core))[0]!;
  expect(await check()).toMatchObject({ status: 'ok', detail: expect.stringContaining('none yet') });
  endpoint.respond = (res) => res.writeHead(429, { 'Retry-After': '3600' }).end();
  await change(core, 1);
  const stop = send(core, { maxWebhookPauseMs: dayMs });
  await until(async () => (await check()).status === 'warn');
  await stop();
  const due = `select abs(extract(epoch from next_at - now()) - 3600) < 600 as "isHour" from receiver.destinations`;
  expect(await database.rows(due)).toEqual([{ isHour: true }]);
  endpoint.respond = (res) => res.end();
  await database.rows('update receiver.destinations set next_at = now()');
  send(core);
  await until(async () => (await check()).status === 'ok');
  expect((await check()).detail).toContain('200');
  await database.rows(`update receiver.destinations set url = 'http://127.0.0.1:2/'`);
  await change(core, 2);
  await until(async () => (await check()).status === 'warn');
  expect((await check()).detail).toContain('ECONNREFUSED');
});

it('a clock that steps back stops no webhooks', async () => {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  await add(core, endpoint);
  await change(core, 1);
  send(core);
  await until(() => endpoint.accepted.length === 1);
  // What was due now is due an hour or a day later then.
  for (const hours of [1, 24]) {
    await database.rows(`update receiver.destinations set next_at = next_at + $1 * interval '1 hour'`, [
      hours,
    ]);
    await change(core, 1, { net_amount: hours });
    await until(() => endpoint.accepted.at(-1)!.record!.net_amount === hours);
  }
  await database.rows(`update receiver.destinations set next_at = now() + interval '1 day'`);
  await change(core, 1, { net_amount: 2 });
  await until(() => endpoint.accepted.at(-1)!.record!.net_amount === 2);
});

it('a restored database uses no id of a webhook twice', async () => {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  await add(core, endpoint);
  send(core);
  for (const amount of [1, 2]) {
    await change(core, 1, { net_amount: amount });
    await until(async () => (await database.rows(`select from receiver.destinations where position = 1`))[0]);
    await restore();
  }
  expect(endpoint.accepted.map(({ version }) => version)).toEqual([1, 1]);
  expect(new Set(endpoint.requests.map(({ id }) => id)).size).toBe(endpoint.requests.length);
});

/** As after a restore of a backup in which there was no change. */
const restore = () =>
  database.rows(`delete from receiver.changes; alter table receiver.changes alter position restart;
    update receiver.destinations set position = 0`);

it('410 pauses a destination at once; commands pause, try and remove it', async () => {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  const id = await add(core, endpoint);
  endpoint.respond = (res) => res.writeHead(410).end();
  await change(core, 1);
  send(core);
  const states = async () => (await checkDestinations(core)).map(({ status }) => status);
  await until(async () => (await states())[0] === 'fail');
  expect(endpoint.requests).toHaveLength(1);
  expect([await run(core, 'test', id), process.exitCode]).toEqual(['410\n', 1]);
  process.exitCode = undefined;
  await run(core, 'pause', id);
  expect(await states()).toEqual(['warn']);
  await run(core, 'remove', id);
  expect(await states()).toEqual([]);
});

it.each([
  ['http://example.org/', 'https'],
  ['https://user:secret@example.org/', 'user'],
  ['example.org', 'The address must be a URL'],
])('%s is no address of a destination', async (address, reason) => {
  await expect(run(openCore(database), 'add', address, '--families', 'receipt')).rejects.toThrow(reason);
});
