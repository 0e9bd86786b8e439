import { createServiceClient } from '../../src/client/index.ts';
import { minutes } from '../chaos/drawn.ts';
import { useDatabase } from '../support/database.ts';
import { killProcesses, spawnReceiver, spawnService, type TestProcess } from '../support/process.ts';
import { until } from '../support/until.ts';

jest.setTimeout(1_500_000);
afterAll(killProcesses);

const database = useDatabase();
// A few percent without `--minutes`.
const whole = { appointments: 20_000, unsent: 300, differing: 200, rescheduled: 50 };
const percent = minutes > 0 ? 100 : 6;
const numbers = Object.entries(whole).map(([name, number]) => [name, (number * percent) / 100] as const);
const { appointments, unsent, differing, rescheduled } = Object.fromEntries(numbers) as typeof whole;
const patientMs = 600_000;

const numberOf = async (query: string) => Number((await database.rows(`select (${query})::int as n`))[0]!.n);
const made = () => numberOf('select count(*) from reconciled_deliveries');

/** Starts a sandbox with a past that it sends at once, and callbacks that go on. */
async function startSandbox(receiver: TestProcess) {
  const given = { appointments, unsent, differing, rescheduled, seed: 1, port: 0, rate: 5 };
  const options = Object.entries(given).flatMap(([name, number]) => [`--${name}`, String(number)]);
  const sandbox = spawnReceiver(
    ['sandbox', ...options, '--families', 'appointment', '--resend-on-failure', '--send-to', receiver.url],
    {},
  );
  const printed = () => /SERVICE_BASE_URL=(\S+) SERVICE_TOKEN=(\S+)/.exec(sandbox.output());
  const [, SERVICE_BASE_URL, SERVICE_TOKEN] = await until(printed);
  await until(() => sandbox.output().includes('acknowledged'), patientMs);
  return { SERVICE_BASE_URL: SERVICE_BASE_URL!, SERVICE_TOKEN: SERVICE_TOKEN! };
}

it('whatever stops the worker, every row is the platform’s afterwards, and two more passes change nothing', async () => {
  const common = { DATABASE_URL: database.url, LOG_LEVEL: 'warn' };
  const receiver = await spawnService({ ...common, LOG_LEVEL: 'info', ROLE: 'receiver' });
  const settings = { ...common, LOG_LEVEL: 'info', ROLE: 'worker' };
  const first = await spawnService(settings);
  const platform = await startSandbox(receiver);
  await until(async () => (await numberOf('select count(*) from pending_deliveries')) < 50, patientMs);
  expect(await first.end('SIGTERM')).toBe(0);
  expect(await numberOf('select count(*) from appointments')).toBeLessThan(appointments);

  const reconciling = { ...settings, ...platform, RECONCILE: '8d' };
  let worker = await spawnService(reconciling);
  const pages = () => numberOf('select count(*) from reconciliation_pages');
  for (let kills = 0; kills < 3; kills++) {
    const before = await pages();
    await until(async () => (await pages()) > before + 2 * percent, patientMs);
    expect(await worker.end('SIGKILL')).toBe('SIGKILL');
    worker = await spawnService(reconciling);
  }
  await until(() => numberOf('select count(*) from reconciliations where ended_at is not null'), patientMs);
  expect(await numberOf('select count(*) from reconciliations')).toBe(1);
  await until(async () => (await numberOf('select count(*) from pending_deliveries')) < 50, patientMs);

  const client = createServiceClient({ baseUrl: platform.SERVICE_BASE_URL, token: platform.SERVICE_TOKEN });
  const days = await database.rows(`
    select (reporting.today() - 8)::text as "from", (reporting.today() + 1)::text as "to"`);
  const listed = new Map<string, string>();
  const textOf = (status: unknown, createdAt: unknown) => `${status} ${Math.trunc(Number(createdAt))}`;
  for await (const one of client.appointments(days[0] as { from: string; to: string }))
    listed.set(one.appointment_id, textOf(one.status, one.created_at));
  expect(listed.size).toBeGreaterThanOrEqual(appointments);
  const rows = await database.rows(`
    select appointment_id as id, status, extract(epoch from created_at) as created_at from appointments`);
  const stored = new Map(rows.map(({ id, status, created_at }) => [id, textOf(status, created_at)]));
  expect(stored.size).toBe(rows.length);
  const different = [...listed].filter(([id, text]) => stored.get(id) !== text);
  // Callbacks go on.
  expect(different.length).toBeLessThan(100);
  for (const [id] of different) {
    await until(async () => {
      const { status, created_at } = await client.appointment({ id });
      const [row] = await database.rows(
        'select status, extract(epoch from created_at) as created_at from appointments where appointment_id = $1',
        [id],
      );
      return row && textOf(row.status, row.created_at) === textOf(status, created_at);
    });
  }

  const [found] = await database.rows(`
    select sum(missing_found)::int as missing, sum(missing_filled)::int as filled,
           sum(differing_found)::int as differing, sum(differing_filled)::int as changed
    from reporting.completeness where method = 'reconciled'`);
  expect(found).toMatchObject({ missing: unsent, filled: unsent, changed: found!.differing });
  expect(found!.differing).toBeGreaterThanOrEqual(differing);
  expect(found!.differing).toBeLessThan(differing + 10);
  expect(await numberOf('select count(*) from unknown_records')).toBe(0);
  expect(await numberOf('select count(*) from reporting.visits where reschedules > 0')).toBe(rescheduled);
  const ofOne = `select i.envelope #>> '{data,appointment_id}', m.compared_with from reconciled_deliveries m join inbox i using (id)`;
  expect(
    await numberOf(`select count(*) from (select distinct * from (${ofOne}) of_one) distinct_ones`),
  ).toBe(await made());

  const before = await made();
  for (let passes = 0; passes < 2; passes++) {
    const pass = spawnReceiver(['reconcile'], { ...common, ...platform, RECONCILE: '8d' });
    expect([await pass.end(), pass.output()]).toEqual([0, expect.stringMatching(/missing *│ 0/)]);
  }
  expect(await made()).toBe(before);
  await client.close();
});
