import { spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { addDestinationsCommand } from '../../src/feed/commands.ts';
import { checkDestinations, findDue } from '../../src/feed/destinations.ts';
import { sendWebhooks } from '../../src/feed/send.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { fingerprintOf } from '../../src/receiver/store/migrate.ts';
import { seededRandom } from '../../src/sandbox/random.ts';
import { closeLater } from '../support/close-later.ts';
import { createCopy, whileLocked } from '../support/database.ts';
import { listen } from '../support/listen.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { change, type Item, openCore, positions } from './support.ts';

const database = useReceiverDatabase('test');
const dayMs = 86_400_000;

/** An endpoint that verifies signatures. `respond` is called for each request; default: 200 */
async function startEndpoint() {
  const endpoint = {
    url: '',
    secret: '',
    respond: (res: ServerResponse, _item: Item): unknown => res.end('thanks'),
    requests: [] as { id: string; type: string; data: Item; acceptedBefore: number }[],
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
    const acceptedBefore = endpoint.accepted.length;
    endpoint.requests.push({ id: headers['webhook-id']!, ...message, acceptedBefore });
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

const isAcceptedBy = ({ accepted }: Endpoint, versions: number[]) =>
  versions.every((one) => accepted.some(({ version }) => version === one));

/** Each request came after all earlier changes of its record had been accepted. */
async function expectInOrder({ requests, accepted }: Endpoint) {
  const all = await database.rows('select position::int as version, record_id as id from receiver.changes');
  const early = requests.filter(({ data: { id, version }, acceptedBefore }) => {
    const before = all.filter((one) => one.id === id && (one.version as number) < version);
    const known = accepted.slice(0, acceptedBefore).map((one) => one.version);
    return before.some((one) => !known.includes(one.version as number));
  });
  expect(early).toEqual([]);
}

const versionsOf = ({ requests }: Endpoint) =>
  requests.map(({ data }) => data.version).toSorted((a, b) => a - b);

/** Leaves the first requests open. @returns by the id of the record, what answers with a status */
function hold(endpoint: Endpoint, count: number) {
  const respondTo = new Map<string, (status: number) => unknown>();
  endpoint.respond = (res, { id }) => {
    if (endpoint.requests.length > count) return res.end();
    return new Promise<void>((resolve) => {
      respondTo.set(id, (status) => resolve(void res.writeHead(status).end()));
    });
  };
  return respondTo;
}

/** Of the first destination. */
const state = async () =>
  (
    await database.rows(
      'select position::int, attempts, outcome from receiver.destinations order by created_at',
    )
  )[0]!;

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
async function add(core: Core, endpoint: Endpoint, ...options: string[]) {
  const output = await run(core, 'add', endpoint.url, '--families', 'receipt', ...options);
  endpoint.secret = /whsec_\S+/.exec(output)![0];
  const [id] = /^d-\w+/.exec(output)!;
  await run(core, 'resume', id, '--from', 'beginning');
  return id;
}

async function openWithEndpoint() {
  const core = openCore(database);
  const endpoint = await startEndpoint();
  return { core, endpoint, id: await add(core, endpoint) };
}

/** Of the first destination, as the checks have it. */
const check = async (core: Core) => (await checkDestinations(core))[0]!;

/** Makes the next attempt due. */
const retry = () => database.rows('update receiver.destinations set next_at = now()');

/** Sends until the test ends, or the returned function is called. */
function send(core: Core, times: Partial<Core['config']['times']> = {}) {
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const config = { ...core.config, times: { ...core.config.times, ...times } };
  const sending = sendWebhooks({ ...core, config }, stopping.signal);
  const stop = () => {
    stopping.abort();
    return sending;
  };
  closeLater(stop);
  return stop;
}

it('an endpoint that fails in any way, and killed senders, get each change at least once, in order for its record', async () => {
  const { core, endpoint } = await openWithEndpoint();
  const random = seededRandom(11);
  const ways: ((res: ServerResponse) => unknown)[] = [
    (res) => res.writeHead(503).end('later'),
    (res) => res.writeHead(302, { Location: endpoint.url }).end(),
    (res) => res.destroy(),
    (res) => res.socket!.end('SSH-2.0-none\r\n\0\0'),
    () => {}, // It hangs.
    neverEnd,
  ];
  endpoint.respond = (res) => (random.chance(0.7) ? res.end() : random.pick(ways)(res));
  const times = JSON.stringify({ ...core.config.times, webhookMs: 200, webhookPageMs: 300 });
  const file = join(import.meta.dirname, 'send-process.ts');
  for (let round = 1; round <= 4; round++) {
    const sender = spawn(process.execPath, ['--import', 'tsx', file, database.url, times], {
      stdio: 'inherit',
    });
    const exit = once(sender, 'exit');
    closeLater(() => sender.kill('SIGKILL'));
    const target = endpoint.requests.length + 20;
    for (let n = 0; n < 25; n++) await change(core, n % 9, { net_amount: round + n / 100 });
    const all = await positions(database);
    await until(() => (round < 4 ? endpoint.requests.length > target : isAcceptedBy(endpoint, all)));
    sender.kill('SIGKILL');
    await exit;
  }
  await expectInOrder(endpoint);
  expect(endpoint.maxOpen).toBeGreaterThan(1);
  expect(endpoint.requests.length).toBeGreaterThan(100);
});

it('a destination that hangs delays no other, and two processes send it no change twice', async () => {
  const core = openCore(database);
  const [slow, slower] = [await startEndpoint(), await startEndpoint()];
  const [endless, good] = [await startEndpoint(), await startEndpoint()];
  for (const endpoint of [slow, slower]) endpoint.respond = () => {};
  endless.respond = neverEnd;
  for (const endpoint of [slow, slower, endless, good]) await add(core, endpoint);
  for (let id = 1; id <= 30; id++) await change(core, id);
  const stops = [send(core), send(core)];
  await until(() => good.accepted.length === 30 && endless.accepted.length === 30 && endless.open === 0);
  const all = await positions(database);
  await until(() => slow.open === 8 && slower.open === 8);
  // A page of 5 s, and its last request.
  const leases = `select id from receiver.destinations where next_at > now() + interval '65 seconds'`;
  expect(await database.rows(leases)).toHaveLength(2);
  expect(versionsOf(good)).toEqual(all);
  for (const endpoint of [slow, slower]) expect(versionsOf(endpoint)).toEqual(all.slice(0, 8));
  await Promise.all(stops.map((stop) => stop()));
  await retry();
  send(core, { webhookMs: 50 });
  await until(() => slow.requests.length > 8 + 8 + 3);
  for (const { data } of slow.requests.slice(8 + 8)) expect(data.version).toBe(all[0]);
  expect(slow.maxOpen).toBe(8);
});

it('a page is one entry of the access log, which is written before its first change is sent', async () => {
  const core = openCore(database);
  const [endpoint, other] = [await startEndpoint(), await startEndpoint()];
  const id = await add(core, endpoint);
  await add(core, other, '--public');
  for (const name of ['A', 'B'])
    for (let n = 1; n <= 30; n++) await change(core, n, { name, patient_oid: String(n) });
  await whileLocked(database, 'lock table access_log in exclusive mode', async () => {
    send(core);
    await until(() => other.accepted.length === 60);
    expect(endpoint.requests).toEqual([]);
  });
  const all = await positions(database);
  await until(() => isAcceptedBy(endpoint, all));
  const entries = `select rows, cardinality(subjects) as patients from access_log where actor_name = $1 order by entry`;
  expect(await database.rows(entries, [id])).toEqual([
    { rows: 50, patients: 30 },
    { rows: 10, patients: 10 },
  ]);
  expect(versionsOf(endpoint)).toEqual(all);
  await expectInOrder(endpoint);
  expect(endpoint.accepted.map(({ record }) => record!.name)).toEqual(all.map(() => 'B'));
});

it('a change that is not accepted comes again alone, then what follows, and the position is before it meanwhile', async () => {
  const { core, endpoint } = await openWithEndpoint();
  const respondTo = hold(endpoint, 8);
  for (let id = 1; id <= 12; id++) await change(core, id);
  const all = await positions(database);
  send(core, { webhookPauseMs: 3_600_000, maxWebhookPauseMs: dayMs });
  await until(() => respondTo.size === 8);
  for (const id of ['5', '1', '2', '3', '4', '6', '7', '8']) respondTo.get(id)!(id === '5' ? 503 : 200);
  await until(async () => (await state()).attempts === 1);
  expect(await state()).toMatchObject({ position: all[3], outcome: '503' });
  const sent = endpoint.requests.length;
  endpoint.respond = (res) => res.writeHead(503).end();
  await retry();
  await until(async () => (await state()).attempts === 2);
  endpoint.respond = (res) => res.end();
  await retry();
  await until(async () => (await state()).position === all.at(-1));
  expect(await state()).toMatchObject({ attempts: 0, outcome: '200' });
  const [first, second, ...others] = endpoint.requests.slice(sent).map(({ data }) => data.version);
  expect([first, second]).toEqual([all[4], all[4]]);
  expect(others.toSorted((one, other) => one - other)).toEqual(all.slice(5));
});

it('what was read some seconds ago is read again before it is sent', async () => {
  const { core, endpoint } = await openWithEndpoint();
  const respondTo = hold(endpoint, 8);
  for (let id = 1; id <= 9; id++) await change(core, id, { name: 'Asha' });
  send(core);
  await until(() => respondTo.size === 8);
  const now = performance.now.bind(performance);
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 6_000);
  closeLater(() => clock.mockRestore());
  await change(core, 9, { name: null });
  for (const respond of respondTo.values()) respond(200);
  const all = await positions(database);
  await until(() => isAcceptedBy(endpoint, all));
  expect(versionsOf(endpoint)).toEqual(all);
  const names = endpoint.requests.slice(8).map(({ data }) => data.record!.name);
  expect(names).toEqual([null, null]);
});

it('a stop ends a page at once, and saves what was accepted', async () => {
  const { core, endpoint, id } = await openWithEndpoint();
  endpoint.respond = (res, item) => Number(item.id) <= 5 && res.end();
  for (let n = 1; n <= 20; n++) await change(core, n);
  const stop = send(core);
  await until(() => endpoint.requests.length === 5 + 8);
  await stop();
  expect(await state()).toMatchObject({ position: (await positions(database))[4], attempts: 0 });
  expect(await findDue(core)).toEqual([id]);
});

it('a pause ends with the page, and a resume meanwhile sends nothing twice', async () => {
  const { core, endpoint, id } = await openWithEndpoint();
  const respondTo = hold(endpoint, 8);
  for (let n = 1; n <= 60; n++) await change(core, n);
  const all = await positions(database);
  send(core);
  await until(() => respondTo.size === 8);
  await run(core, 'pause', id);
  await run(core, 'resume', id);
  expect(await findDue(core)).toEqual([]);
  await run(core, 'pause', id);
  for (const respond of respondTo.values()) respond(200);
  await until(async () => (await state()).position === all[49]);
  const other = await startEndpoint();
  await add(core, other);
  await until(() => other.accepted.length === 60);
  expect(versionsOf(endpoint)).toEqual(all.slice(0, 50));
});

it('a waiting change is logged and sent as the record is then, with one id for all attempts', async () => {
  const { core, endpoint, id } = await openWithEndpoint();
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

it('a page that a database error ends is sent again soon, and the check says so', async () => {
  const { core, endpoint } = await openWithEndpoint();
  await change(core, 1, { name: 'Asha' });
  await database.rows('alter table access_log rename to gone');
  send(core);
  await until(async () => (await state()).outcome !== null, 20_000);
  expect(await check(core)).toMatchObject({ status: 'warn', detail: 'The last attempt: database error' });
  await database.rows('alter table gone rename to access_log');
  await until(() => endpoint.accepted.length === 1);
});

it('a process whose families are not those of the tables leaves a destination to others', async () => {
  const { core, endpoint, id } = await openWithEndpoint();
  await change(core, 1);
  const fingerprint = `update receiver.settings set value = $1 where name = 'families'`;
  await database.rows(fingerprint, ['of another version']);
  const lines: object[] = [];
  const stop = send({
    ...core,
    log: { ...core.log, limited: (...line: object[]) => lines.push(line) } as never,
  });
  await until(() => lines.length > 0);
  await stop();
  expect([await findDue(core), (await state()).attempts]).toEqual([[id], 0]);
  await database.rows(fingerprint, [fingerprintOf(core.families)]);
  send(core);
  await until(() => endpoint.accepted.length === 1);
});

it('a command that sends from the beginning while a change is sent delays nothing', async () => {
  const { core, endpoint, id } = await openWithEndpoint();
  await change(core, 1);
  send(core);
  await until(async () => (await state()).outcome === '200');
  for (const status of [200, 503]) {
    const respondTo = hold(endpoint, endpoint.requests.length + 1);
    await change(core, 2, { net_amount: status });
    await until(() => respondTo.size === 1);
    await run(core, 'resume', id, '--from', 'beginning');
    respondTo.get('2')!(status);
    const all = await positions(database);
    await until(async () => (await state()).position === all.at(-1), 20_000);
  }
});

it('a resume while a change is sent counts its failures anew', async () => {
  const { core, endpoint, id } = await openWithEndpoint();
  const respondTo = hold(endpoint, 1);
  await change(core, 1);
  await database.rows('update receiver.destinations set attempts = 20');
  send(core, { webhookPauseMs: 60_000, maxWebhookPauseMs: dayMs });
  await until(() => respondTo.size === 1);
  await run(core, 'pause', id);
  await run(core, 'resume', id);
  respondTo.get('1')!(503);
  await until(async () => (await state()).outcome === '503');
  const pauses = `select attempts, next_at < now() + interval '2 minutes' as "isShort" from receiver.destinations`;
  expect(await database.rows(pauses)).toEqual([{ attempts: 1, isShort: true }]);
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
  const todo = expect.stringContaining(`resume ${id}`);
  expect(await check(copy)).toMatchObject({ about: id, status: 'fail', todo });
  await run(copy, 'resume', id);
  await until(() => endpoint.accepted.length === 1);
});

it('a change that is refused for days pauses its destination, and can be skipped', async () => {
  const { core, endpoint, id } = await openWithEndpoint();
  const dueSince = (days: number) =>
    database.rows(
      `update receiver.destinations set next_at = now(), failing_since = now() - $1 * interval '1 day'`,
      [days],
    );
  await expect(run(core, 'skip', id)).rejects.toThrow('no change that it has not accepted');
  endpoint.respond = (res, item) => res.writeHead(item.id === '1' ? 422 : 200).end();
  for (const id of [1, 2]) await change(core, id);
  send(core, { webhookPauseMs: 3_600_000, maxWebhookPauseMs: dayMs });
  await until(async () => (await state()).attempts === 1);
  expect(await run(core, 'list')).toContain('422');
  expect(await check(core)).toMatchObject({ status: 'warn', detail: expect.stringContaining('422') });
  await dueSince(2.9);
  await until(async () => (await state()).attempts === 2);
  expect(endpoint.requests).toHaveLength(3);
  const [row] = await database.rows(
    'select extract(epoch from next_at - now())::float / 3600 as hours from receiver.destinations',
  );
  expect(Math.abs((row!.hours as number) - 2)).toBeLessThan(0.6); // Twice the first pause, and a quarter of jitter
  expect(await check(core)).toMatchObject({ status: 'warn', since: expect.any(Date) });
  await dueSince(3.1);
  await until(async () => (await check(core)).status === 'fail');
  expect((await check(core)).todo).toMatch(/resume.*skip/);
  await dueSince(0);
  expect(await findDue(core)).toEqual([]);
  expect(await run(core, 'skip', id)).toContain('receipt 1 is skipped');
  await run(core, 'resume', id);
  await until(() => endpoint.accepted.length === 2);
  expect(endpoint.requests.map(({ data }) => data.id).slice(2)).toEqual(['1', '1', '2']);
});

it('the last attempt decides about the check, and Retry-After about the next one', async () => {
  const { core, endpoint } = await openWithEndpoint();
  expect(await check(core)).toMatchObject({ status: 'ok', detail: expect.stringContaining('none yet') });
  endpoint.respond = (res) => res.writeHead(429, { 'Retry-After': '3600' }).end();
  await change(core, 1);
  const stop = send(core, { maxWebhookPauseMs: dayMs });
  await until(async () => (await check(core)).status === 'warn');
  await stop();
  const due = `select abs(extract(epoch from next_at - now()) - 3600) < 600 as "isHour" from receiver.destinations`;
  expect(await database.rows(due)).toEqual([{ isHour: true }]);
  endpoint.respond = (res) => res.end();
  await retry();
  send(core);
  await until(async () => (await check(core)).status === 'ok');
  expect((await check(core)).detail).toContain('200');
  await database.rows(`update receiver.destinations set url = 'http://127.0.0.1:2/'`);
  await change(core, 2);
  await until(async () => (await check(core)).status === 'warn');
  expect((await check(core)).detail).toContain('ECONNREFUSED');
});

it('a restored database uses no id of a webhook twice', async () => {
  const { core, endpoint } = await openWithEndpoint();
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
  const { core, endpoint, id } = await openWithEndpoint();
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
  'example.org',
  'localhost:9000',
  'mailto:a@example.org',
  'ftp://example.org/',
  'https://a:b@example.org/',
])('an address to which nothing can be sent is refused: %s', async (address) => {
  const added = run(openCore(database), 'add', address, '--families', 'receipt');
  await expect(added).rejects.toThrow('The address must be a URL of http(s) without credentials');
});
