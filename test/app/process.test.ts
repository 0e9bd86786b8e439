import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { callbacks } from '../../src/sandbox/history.ts';
import { registeredUrls } from '../../src/sandbox/sender.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { killProcesses, spawnReceiver, spawnService } from '../support/process.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { useRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { sign } from '../support/sign.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase('test');
const redis = useRedis();
afterEach(killProcesses);

it('SIGHUP takes other signing keys, of a file or .env, and none that are faulty; callbacks go on', async () => {
  const folder = tempFolder();
  const file = join(folder, 'keys');
  const [before, after] = ['0f1e2d3c4b5a6978', '8796a5b4c3d2e1f0'];
  writeFileSync(file, before);
  const service = await spawnService({ DATABASE_URL: database.url, SIGNING_KEYS_FILE: file });
  const body = JSON.stringify(receiptCallback());
  const statusOf = async (key: string) =>
    (await post(service.url + paths.receipt, body, { 'x-webhook-signature': sign(key, body) })).status;
  const isSaid = (text: string) => until(() => service.output().includes(text));
  expect(await statusOf(after)).toBe(401);
  writeFileSync(file, `${before},${after}`);
  service.child.kill('SIGHUP');
  await isSaid('SIGNING_KEYS: 1 added, 0 removed');
  expect([await statusOf(before), await statusOf(after)]).toEqual([200, 200]);
  writeFileSync(file, 'short');
  service.child.kill('SIGHUP');
  await isSaid('stay as they were');
  writeFileSync(file, after);
  service.child.kill('SIGHUP');
  await isSaid('SIGNING_KEYS: 0 added, 1 removed');
  expect([await statusOf(before), await statusOf(after)]).toEqual([401, 200]);
  expect(service.output()).not.toMatch(new RegExp(`${before}|${after}|short`));
});

it.each([
  ['no such database', { pathname: '/nowhere' }, 'database "nowhere" does not exist'],
  ['a wrong password', { password: 'wrong' }, 'password authentication failed'],
])('%s ends the start, also with a fallback store, and names DATABASE_URL', async (_, wrong, reason) => {
  const DATABASE_URL = Object.assign(new URL(database.url), wrong).href;
  const command = spawnReceiver(['start'], { DATABASE_URL, REDIS_URL: redis.url, PORT: '0' });
  expect(await command.end()).toBe(1);
  expect(command.output()).toMatch(
    new RegExp(`^receiver: .*${reason}.*\\nDATABASE_URL, .*: start PostgreSQL, make the database, or`, 'm'),
  );
});

it.each([['start'], ['sql', 'select 1']])(
  'PostgreSQL that is away ends %s, and names the variable',
  async (...args) => {
    const DATABASE_URL = Object.assign(new URL(database.url), { host: 'localhost:1' }).href;
    const command = spawnReceiver(args, { DATABASE_URL, PORT: '0' });
    expect(await command.end()).toBe(1);
    expect(command.output()).toMatch(/^receiver: .*ECONNREFUSED.*\nDATABASE_URL, .*: start PostgreSQL/m);
    expect(command.output()).not.toContain('AggregateError');
  },
);

it('a command of the client says in one line what to set, and ends with 78', async () => {
  const command = spawnReceiver(['drugs', 'a'], { SERVICE_TOKEN: 't' });
  expect([await command.end(), command.output()]).toEqual([
    78,
    "receiver: set SERVICE_BASE_URL to the platform's http(s) address, without credentials\n",
  ]);
});

it('DATABASE_URL leads to the socket in a folder', async () => {
  const { hostname, port, pathname, username, password } = new URL(database.url);
  const folder = tempFolder();
  const socket = createServer((from) => {
    const to = connect(Number(port), hostname);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const)
      one.on('error', () => other.destroy()).pipe(other);
  }).listen(join(folder, '.s.PGSQL.5432'));
  await once(socket, 'listening');
  const DATABASE_URL = `postgresql://${username}:${password}@${pathname}?host=${folder}`;
  const command = spawnReceiver(['sql', '--json', 'select 7 as seven'], { DATABASE_URL });
  expect([await command.end(), command.output()]).toEqual([0, '{"seven":"7"}\n']);
  socket.close();
});

it('prints in one block the addresses of the basic families, and a curl command that the receiver accepts', async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  await until(() => service.output().includes('npx receiver send --history\n'));
  const [, greeting] = /"msg":"ready"\}\n(\n[\s\S]*send --history\n)/.exec(service.output())!;
  expect(greeting).not.toMatch(/^\{"level"/m);
  for (const name of ['receipt', 'consent_form', 'review_request', 'other'] as const)
    expect(service.output()).toContain(service.url + paths[name]);
  const [, address, body] = /curl -s (\S+) -H 'Content-Type: application\/json' -d '(.*)'/.exec(
    service.output(),
  )!;
  expect((await post(address!, body)).status).toBe(200);
});

it('what may identify a patient is read from standard input, as others see the arguments of a process', async () => {
  const run = (input: string, ...args: string[]) =>
    spawnSync(process.execPath, ['bin/receiver.js', ...args, '-'], {
      ...{ input, encoding: 'utf8' },
      env: { PATH: process.env.PATH, DATABASE_URL: database.url },
    });
  expect(run('platform:P1\npartner:b1:7\n', 'patient', 'hold', '--').stdout).toContain('Hold placed');
  expect(await database.count('receiver.holds')).toBe(2);
  expect(run('platform:P1', 'audit', 'list', '--patient').stdout).toContain('hold');
});

it('two receivers and two workers apply everything exactly once', async () => {
  const roles = ['receiver', 'receiver', 'worker', 'worker'];
  const started = await Promise.all(
    roles.map((ROLE) => spawnService({ ROLE, DATABASE_URL: database.url, REDIS_URL: redis.url })),
  );
  const distinct = callbacks({ seed: 7, count: 500 });
  const sent = [...distinct, ...distinct.slice(-100)];
  const urls = started.slice(0, 2).map(({ url }) => registeredUrls(url));
  await Promise.all(
    sent.map((callback, index) =>
      until(async () => (await post(urls[index % 2]!(callback), callback.envelope)).status === 200),
    ),
  );
  await until(async () => (await database.count(`deliveries where status = 'applied'`)) === 500);
  // A commit that timed out is sent again, so that none is counted less.
  const [counted] = await database.rows(
    'select sum(delivery_count)::int as n, count(*)::int as all from deliveries',
  );
  expect(counted).toMatchObject({ all: 500 });
  expect(counted!.n).toBeGreaterThanOrEqual(600);
  await Promise.all(started.map((service) => service.end('SIGTERM')));
});

it('a stop completes the requests in progress: acknowledged callbacks, and no others, are stored', async () => {
  const service = await spawnService({ DATABASE_URL: database.url });
  const responses = Array.from({ length: 200 }, async (_, receipt_id) => {
    const callback = receiptCallback({ data: { receipt_id } });
    return (await post(service.url + paths.receipt, callback)).status;
  });
  await Promise.race(responses);
  expect(await service.end('SIGTERM')).toBe(0);
  const statuses = await Promise.allSettled(responses);
  const acknowledged = statuses.filter((one) => one.status === 'fulfilled' && one.value === 200).length;
  expect(await database.count('deliveries')).toBe(acknowledged);
});
