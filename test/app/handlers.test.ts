import childProcess, { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Queue } from 'bullmq';
import { startHandlersProcess } from '../../src/app/handlers-process.ts';
import { createLog } from '../../src/common/log.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import { sandboxCredentials, startSandbox } from '../../src/sandbox/index.ts';
import { startMailServer } from '../support/alert-channels.ts';
import { paths, samples } from '../support/callbacks.ts';
import { closeLater } from '../support/close-later.ts';
import { coreOf } from '../support/core.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { listen } from '../support/listen.ts';
import { killProcesses, spawnReceiver, spawnService } from '../support/process.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { startRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase('test');
const destinations = async (...args: string[]) =>
  expect(await spawnReceiver(['destinations', ...args], { DATABASE_URL: database.url }).end()).toBe(0);
afterEach(killProcesses);

/** A project that has the package installed. @returns the folder of its modules */
function writeProject(modules: Record<string, string>): string {
  const project = tempFolder();
  mkdirSync(join(project, 'node_modules'));
  for (const name of ['bullmq', 'nodemailer', 'pg'])
    symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name));
  symlinkSync(resolve('.'), join(project, 'node_modules/webhook-receiver'));
  mkdirSync(join(project, 'handlers'));
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(project, 'handlers', name), text);
  return join(project, 'handlers');
}

const handler = (name: string, body: string, more = '') => `
  import { existsSync, writeFileSync } from 'node:fs';
  import pg from 'pg';
  import { defineHandler } from 'webhook-receiver/handler';
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
  const marks = process.env.MARKS_OF_HANDLERS;
  let count = 0;
  export default defineHandler({ name: '${name}', families: ['receipt'], ${more} run: async ({ change, record, callback }, { signal }) => {
    count += 1;
    ${body}
    await pool.query('insert into test.calls (call) values ($1)', [{ name: '${name}', ...change, record, callback }]);
  } });`;

interface Call {
  name: string;
  id: string;
  kind: string;
  version: number;
  record: Record<string, unknown> | null;
  callback: Record<string, unknown> | null;
}

async function start(modules: Record<string, string>, env: Record<string, string> = {}) {
  await database.rows(
    'create schema test; create table test.calls (n bigint generated always as identity, call jsonb)',
  );
  const HANDLERS = writeProject(modules);
  const MARKS_OF_HANDLERS = join(HANDLERS, '../mark');
  const service = await spawnService({ DATABASE_URL: database.url, HANDLERS, MARKS_OF_HANDLERS, ...env });
  closeLater(killProcesses);
  return {
    service,
    mark: () => writeFileSync(MARKS_OF_HANDLERS, ''),
    calls: async () =>
      (await database.rows('select call from test.calls order by n')).map(({ call }) => call as Call),
  };
}

const send = async (url: string, path: string, callback: object) =>
  expect((await post(url + path, callback)).status).toBe(200);

const sendReceipt = (url: string, receipt_id: number, second = 0, event = 'receipt.updated') =>
  send(
    url,
    paths.receipt,
    samples.receipt({ event, event_time: 1_700_000_000 + second, data: { receipt_id } }),
  );

const changesOfReceipts = () =>
  database.rows(
    `select record_id as id, position::int as version from receiver.changes where family = 'receipt' order by position`,
  );

/** Each change was handed over, the first time after all earlier ones of its record. */
function expectInOrder(calls: Call[], changes: Record<string, unknown>[], name: string) {
  const own = calls.filter((call) => call.name === name);
  const firsts = own.filter(({ version }, n) => own.findIndex((call) => call.version === version) === n);
  const versionsOf = (list: { id?: unknown; version?: unknown }[], record: unknown) =>
    list.filter(({ id }) => id === record).map(({ version }) => version);
  for (const id of new Set(changes.map((change) => change.id)))
    expect([name, id, versionsOf(firsts, id)]).toEqual([name, id, versionsOf(changes, id)]);
}

it('the examples of docs/handlers.md do what they say', async () => {
  const blocks = [...readFileSync('docs/handlers.md', 'utf8').matchAll(/```js\n(.*?)```/gs)].map(
    ([, code]) => code!,
  );
  expect(blocks).toHaveLength(5);
  const mail = await startMailServer();
  closeLater(mail.stop);
  const ledger = await createEmptyDatabase();
  closeLater(ledger.close);
  await ledger.rows('create table ledger (receipt text primary key, version bigint, paid numeric)');
  const platform = await startSandbox();
  closeLater(platform.close);
  const redis = await startRedis();
  closeLater(redis.stop);
  const url = `${await listen((_req, res) => res.end('%PDF'))}/receipt.pdf`;
  const PDF_FOLDER = tempFolder();
  const { service } = await start(Object.fromEntries(blocks.map((code, n) => [`example-${n}.mjs`, code])), {
    // Its password has characters that an address cannot have.
    CLINIC_SMTP_URL: `smtp://${new URL(mail.url.replace(/\/\/.*@/, '//')).host}`,
    LEDGER_URL: ledger.url,
    SERVICE_BASE_URL: platform.url,
    SERVICE_CLIENT_ID: sandboxCredentials.clientId,
    SERVICE_CLIENT_SECRET: sandboxCredentials.clientSecret,
    PDF_FOLDER,
    REMINDERS_REDIS_URL: redis.url,
  });
  const data = { receipt_id: 7, receipt_url: url, amount_paid: 450 };
  await send(service.url, paths.receipt, samples.receipt({ data }));
  await until(() => readdirSync(PDF_FOLDER).length > 0);
  const { data: _, ...envelope } = samples.receipt({ event: 'receipt.deleted' });
  await send(service.url, paths.receipt, { ...envelope, data: { receipt_id: 7 } });
  await send(service.url, paths.appointment, samples.appointment({ data: { start_time: 1_700_000_900 } }));
  await send(service.url, paths.practice_change, samples.practice_change());
  await until(() => mail.mails.length > 0);
  expect(mail.mails[0]!.subject).toMatch(/^Receipt .+ was deleted$/);
  await until(() => ledger.count('ledger'));
  expect(await ledger.rows('select receipt, paid from ledger')).toEqual([
    { receipt: expect.stringMatching(/ 7$/), paid: '450' },
  ]);
  await until(() => service.output().includes('the directory was read'));
  await until(() => readdirSync(PDF_FOLDER).length > 0);
  expect(readFileSync(join(PDF_FOLDER, readdirSync(PDF_FOLDER)[0]!), 'utf8')).toBe('%PDF');
  const queue = new Queue('reminders', { connection: { url: redis.url } });
  closeLater(() => queue.close());
  expect(await until(async () => (await queue.getJobs('waiting'))[0])).toMatchObject({ name: 'remind' });
});

it('each wrong module ends the start with 78 and its fault', async () => {
  const HANDLERS = writeProject({
    'a.mjs': handler('a', ''),
    'b.mjs': handler('a', ''),
    'c.mjs': `import { defineHandler } from 'webhook-receiver/handler'; export default defineHandler({ name: 'C', families: ['health_account'] });`,
    'd.mjs': 'export const x = 1;',
    'e.mjs': 'throw new Error("no");',
  });
  const started = spawnReceiver(['start'], { DATABASE_URL: database.url, HANDLERS, PORT: '0' });
  expect(await started.end()).toBe(78);
  const faults = Array.from(started.output().matchAll(/^HANDLERS (.{0,5})/gm), ([, file]) => file);
  expect(faults).toEqual(['b.mjs', 'c.mjs', 'c.mjs', 'c.mjs', 'd.mjs', 'e.mjs']);
});

it('a handler that throws, hangs or ends its process gets every change in order, and others and callbacks go on', async () => {
  const ways = [
    'throw new TypeError(record.name)',
    'await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))',
    // It ignores its signal.
    'await new Promise(() => {})',
    `process.kill(process.pid, 'SIGKILL')`,
  ];
  // Each goes wrong once, after some calls.
  const modules = ways.map((way, n) => [
    `way-${n}.mjs`,
    handler(
      `way-${n}`,
      `const mark = marks + ${n};
      if (count === 5 && !existsSync(mark)) { writeFileSync(mark, 'x'); ${way}; }`,
      'timeoutMs: 3_000,',
    ),
  ]);
  const { service, calls } = await start({ ...Object.fromEntries(modules), 'good.mjs': handler('good', '') });
  for (let n = 0; n < 60; n += 1) await sendReceipt(service.url, n % 7, n);
  await until(async () => (await database.count('receiver.pending_deliveries')) === 0);
  const changes = await changesOfReceipts();
  const names = ['good', ...ways.map((_, n) => `way-${n}`)];
  const made = await until(async () => {
    const all = await calls();
    const seen = new Set(all.map(({ name, version }) => `${name} ${version}`));
    const isAll = names.every((name) => changes.every(({ version }) => seen.has(`${name} ${version}`)));
    return isAll ? all : undefined;
  }, 200_000);
  for (const name of names) expectInOrder(made, changes, name);
  const [call] = made;
  expect(call).toMatchObject({ record: { receipt_id: call!.id }, callback: { event: 'receipt.updated' } });
  expect(service.output()).not.toContain(String(call!.record!.name));
  expect(await service.end('SIGTERM')).toBe(0);
});

it('an error that nobody awaits is logged without its text, and the handlers start again', async () => {
  const way = `if (!existsSync(marks)) { writeFileSync(marks, ''); void Promise.reject(new TypeError('550 <asha@example.org>')); await new Promise(() => {}); }`;
  const { service, calls } = await start({ 'a.mjs': handler('a', way) });
  await sendReceipt(service.url, 1);
  await until(async () => (await calls()).length === 1);
  expect(service.output()).toMatch(/"type":"TypeError","at":"at .*a\.mjs:.*unexpected error/);
  expect(service.output()).not.toContain('asha');
});

it('handlers that cannot be started are tried again, and end no receiver', async () => {
  const child = join(tempFolder(), 'child.cjs');
  writeFileSync(
    child,
    'process.send("alive"); process.once("SIGTERM", () => process.exit()); setInterval(() => {}, 1_000);',
  );
  const lines: string[] = [];
  const started: ChildProcess[] = [];
  const fork = jest.spyOn(childProcess, 'fork').mockImplementation(() => {
    const program = started.length === 1 ? '/nowhere' : process.execPath;
    started.push(spawn(program, [child], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
    return started.at(-1)!;
  });
  closeLater(() => fork.mockRestore());
  const config = {
    databaseUrl: database.url,
    times: { handlersRestartMs: 10, handlersSilentMs: 60_000, stopMs: 10_000 },
  };
  const log = createLog('error', { write: (line) => lines.push(line) });
  const stop = await startHandlersProcess(config as never, '', log);
  started[0]!.kill('SIGKILL');
  await until(() => started.length === 3);
  await stop();
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(
    Array(2).fill('the process of the handlers has ended'),
  );
});

it('a handler begins with its first start, or where a command says, and is paused by one', async () => {
  const HANDLERS = { 'a.mjs': handler('a', '') };
  const env = { DATABASE_URL: database.url };
  const receiver = await spawnService(env);
  await sendReceipt(receiver.url, 1);
  await until(async () => (await changesOfReceipts()).length === 1);
  await receiver.end('SIGTERM');
  const { service, calls } = await start(HANDLERS);
  await sendReceipt(service.url, 2);
  const idsOfCalls = async () => (await calls()).map(({ id }) => id);
  await until(async () => (await calls()).length > 0);
  expect(await idsOfCalls()).toEqual(['2']);
  await destinations('pause', 'handler:a');
  await destinations('resume', 'handler:a', '--from', 'beginning');
  await until(async () => (await calls()).length === 3);
  // Two records at once.
  expect((await idsOfCalls()).toSorted()).toEqual(['1', '2', '2']);
});

it('a handler that takes its time gets nobody who was erased meanwhile', async () => {
  const waits = `if (!existsSync(marks)) await new Promise((resolve) => { setInterval(() => existsSync(marks) && resolve(), 20); });`;
  const { service, calls, mark } = await start({ 'a.mjs': handler('a', waits) });
  await destinations('pause', 'handler:a');
  const data = { patient_oid: '161234567890123', name: 'Asha Rao' };
  for (let receipt_id = 1; receipt_id <= 10; receipt_id += 1)
    await send(service.url, paths.receipt, samples.receipt({ data: { ...data, receipt_id } }));
  await until(async () => (await changesOfReceipts()).length === 10);
  await destinations('resume', 'handler:a');
  // Eight records at once: the page has been read.
  await until(() => database.count(`access_log where action = 'changes'`));
  await erasePatient(coreOf(database), { id: 'command:test' }, ['p:platform:161234567890123'], {});
  mark();
  const made = await until(async () => {
    const all = await calls();
    return all.length >= 10 ? all : undefined;
  });
  const last = made.filter(({ id }) => Number(id) > 8);
  expect(last.length).toBeGreaterThan(1);
  expect(JSON.stringify(last)).not.toMatch(/Asha|161234567890123/);
});
