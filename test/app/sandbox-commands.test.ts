import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { addSandboxCommands } from '../../src/app/commands/sandbox.ts';
import type { OnCore } from '../../src/receiver/feature.ts';
import { changeAliases, listAliases } from '../../src/reconcile/aliases.ts';
import { accept, startReceiver } from '../sandbox/receiver.ts';
import { coreOf } from '../support/core.ts';
import { killProcesses, spawnReceiver } from '../support/process.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase();
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeEach(async () => {
  receiver = await startReceiver(accept);
});
afterEach(async () => {
  killProcesses();
  await receiver.close();
  process.exitCode = undefined;
});

const withoutDatabase: OnCore = () => async () => {
  throw new Error('There is no database in .data');
};

async function runOn(onCore: OnCore, env: Record<string, string>, ...args: string[]) {
  const output = { out: '', err: '', code: 0 };
  const program = new Command('receiver').exitOverride().configureOutput({
    writeOut: (text) => {
      output.out += text;
    },
    writeErr: (text) => {
      output.err += text;
    },
  });
  addSandboxCommands(program, env, onCore);
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error;
    output.code = error.exitCode;
  });
  return output;
}

const run = (env: Record<string, string>, ...args: string[]) => runOn(withoutDatabase, env, ...args);
const send = (args: string) => run({}, 'send', '--url', receiver.url, ...args.split(' '));
const bodies = () => receiver.requests.map((g) => String(g.body));

it('ends with a summary', async () => {
  const { out } = await send('--count 100 --seed 5');
  expect(out).toMatch(/^sent {5}100 callbacks in [\d.]+ s \(\d+\/s\), 100 acknowledged$/m);
  expect(out).toMatch(/^outcomes 200 accepted 100$/m);
  expect(out).toMatch(/^seed {5}5$/m);
  expect(process.exitCode).toBeUndefined();
});

it('sends a family of the folder FAMILIES: its sample with other ids and times', async () => {
  const folder = tempFolder();
  const module = join(folder, 'invoice.ts');
  await writeFile(
    module,
    `export default { name: 'invoice', events: { 'invoice.created': 'created', 'invoice.paid': 'updated' }, path: { default: ['/invoices'] },
      table: 'invoices', key: 'number', fields: { number: { kind: 'integer' }, total: { kind: 'amount' }, at: { kind: 'time' }, by: { kind: 'text' } },
      sample: { by: 'desk' } }`,
  );
  const args = ['--url', receiver.url, '--families', 'invoice', '--count', '8', '--seed', '1'];
  await run({ FAMILIES: folder }, 'send', ...args);
  expect(new Set(receiver.requests.map(({ path }) => path))).toEqual(new Set(['/invoices']));
  const sent = bodies().map((body) => JSON.parse(body));
  expect(new Set(sent.map(({ event }) => event))).toEqual(new Set(['invoice.created', 'invoice.paid']));
  const number = expect.any(Number);
  for (const { data } of sent) expect(data).toEqual({ number, total: number, at: number, by: 'desk' });
});

it('takes port, paths, key and header from the environment', async () => {
  const { port: PORT } = new URL(receiver.url);
  const names = ['--families', 'receipt,consent_form'];
  const paths = { RECEIPTS_PATH: '/r/unguessable', CONSENT_FORMS_PATH: '/c/unguessable' };
  const signed = { SIGNING_KEYS: 'first,second', SIGNATURE_HEADER: 'X-Our-Signature' };
  const env = { PORT, ...paths, ...signed };
  await run(env, 'send', '--count', '100', '--seed', '1', ...names);
  expect(new Set(receiver.requests.map((g) => g.path))).toEqual(
    new Set(['/r/unguessable', '/c/unguessable']),
  );
  expect(receiver.requests[0]?.headers['x-our-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
});

it('exits with 1 when a callback was not acknowledged', async () => {
  await receiver.close();
  expect((await send('--count 3')).out).toContain('ECONNREFUSED 3');
  expect(process.exitCode).toBe(1);
  receiver = await startReceiver(accept);
});

it.each([
  ['--rate', '0'],
  ['--count', '-1'],
  ['--families', 'receipts'],
  ['--url', 'ftp://127.0.0.1'],
])('refuses %s %s', async (option, value) => {
  const output = await run({}, 'send', `${option}=${value}`);
  expect(output).toMatchObject({ code: 1, err: expect.stringContaining(`'${option} <`) });
});

it('names the clinics and doctors of a past in the database, but for what a person has entered', async () => {
  const core = coreOf(database, testConfig());
  const onCore: OnCore =
    (run) =>
    async (...args) =>
      run(core, ...args);
  const args = ['send', '--url', receiver.url, '--history', '--seed', '4', '--count', '20'];
  const sendPast = async (on: OnCore) => /^names .*$/m.exec((await runOn(on, {}, ...args)).out)?.[0];
  expect(await sendPast(withoutDatabase)).toBe('names    not imported: There is no database in .data');
  await changeAliases(core.db, [{ kind: 'business', id: '600000000000004', alias: 'Ours' }], 'command:me');
  expect(await sendPast(onCore)).toBe('names    9 of 10 ids of clinics and doctors have new names');
  const names = (await listAliases(core.db)).map(({ kind, alias }) => `${kind} ${alias}`);
  expect(names).toEqual(expect.arrayContaining(['business Ours', 'clinic Jayanagar', 'doctor Dr Meera Rao']));
  expect(await database.rows('select action, rows from public.access_log')).toEqual([
    { action: 'aliases', rows: 10 },
  ]);
});

it('serves the past of a business, of whose appointments some are never sent', async () => {
  const args = `sandbox --port 0 --token ours --send-to ${receiver.url} --history --seed 4 --unsent 30%`;
  const sandbox = spawnReceiver(args.split(' '), {});
  await until(() => sandbox.output().includes('acknowledged'));
  const [, url] = /^export SERVICE_BASE_URL=(\S+) SERVICE_TOKEN=ours$/m.exec(sandbox.output())!;
  const listed = new Set<string>();
  const [from, to] = [3, -4].map((days) =>
    new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10),
  );
  for (let page = 0, size = 30; size === 30; page++) {
    const list = `${url}/dr/v1/appointment?start_date=${from}&end_date=${to}&page_no=${page}`;
    const { appointments } = await (await fetch(list, { headers: { auth: 'ours' } })).json();
    for (const { appointment_id } of appointments) listed.add(appointment_id);
    size = appointments.length;
  }
  const callbacks = bodies().map((body) => JSON.parse(body));
  const sent = callbacks.flatMap(({ event, data }) =>
    event.startsWith('appointment.') ? data.appointment_id : [],
  );
  expect(listed.size).toBeGreaterThan(30);
  const { length } = [...listed].filter((id) => !sent.includes(id));
  expect(length).toBeGreaterThan(0);
  expect(length).toBeLessThan(listed.size / 2);
});

it('the sandbox sends callbacks until it is interrupted', async () => {
  const args = ['sandbox', '--port', '0', '--send-to', receiver.url, '--rate', '20'];
  const { end } = spawnReceiver(args, { SIGNING_KEYS: 'key' });
  await until(() => receiver.requests.length >= 20);
  expect(await end('SIGINT')).toBe('SIGINT');
  expect(receiver.requests[0]?.headers).toHaveProperty('x-webhook-signature');
});

it('reports in one line that the sandbox cannot listen', async () => {
  const { port } = new URL(receiver.url);
  const err = `sandbox: cannot listen on 127.0.0.1:${port} (EADDRINUSE)\n`;
  expect(await run({}, 'sandbox', '--port', port)).toEqual({ out: '', err, code: 69 });
});
