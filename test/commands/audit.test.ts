import { hostname, userInfo } from 'node:os';
import { logAccess } from '../../src/privacy/log/access-log.ts';
import { createEmptyDatabase, useDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

const database = useDatabase({ per: 'test' });

const run = (args: string[], url = database.url) => runCommand(args, { DATABASE_URL: url });

const me = `command:${userInfo().username}`;
const _patient = '161467756044204';
const asha = { id: 'sub-1', name: 'Asha Admin', address: '10.0.0.9' };

const entries = () =>
  database.rows(
    `select actor, address, action, filter, rows,
            array(select patient_id from unnest(patients) p join patient_pseudonyms on pseudonym = p order by 1) as patients
     from access_log order by entry`,
  );

const entry = (action: string, filter: object, rows: string | null, patients: string[] = []) => ({
  actor: me,
  address: hostname(),
  action,
  filter,
  rows,
  patients,
});

/** Adds a body in quarantine. */
const reject = (body: string, id = '00000000-0000-4000-8000-000000000001') =>
  database.pool.query(
    `insert into quarantine (id, path, reason, body) values ($1, '/somewhere', 'invalid', $2)`,
    [id, Buffer.from(body)],
  );

it('commands that show or change data are entries of the log', async () => {
  const id = '00000000-0000-4000-8000-000000000001';
  await reject(
    `{"patient_oid": "p1", "x": {"patientid":"p\\u0032"}, "patient_id" : 33, "patient_oid": "", "bad`,
    id,
  );
  await reject('{"patient_id": "p1"}', '00000000-0000-4000-8000-000000000002');
  expect((await run(['quarantine', 'show'])).output).toContain('"patient_oid": "p1"');
  await run(['quarantine', 'replay', '--dry-run']);
  await run(['quarantine', 'replay', '--reason', 'invalid']);
  await run(['quarantine', 'drop', '--id', id]);
  await run(['replay', '--dry-run']);
  await run(['replay', '--status', 'applied', '--since', '2026-01-01T00:00Z']);
  await run(['sql', 'select 1 union all select 2']);
  await run(['sql', '--write', 'create table mine ()']);
  const failed = await run(['sql', `select 'Asha Rao'::int`]);
  expect(failed).toMatchObject({ code: 1, output: expect.stringContaining('Asha Rao') });
  expect(await entries()).toEqual([
    entry('body', {}, '2', ['33', 'p1', 'p2']),
    entry('quarantine replay', { reason: 'invalid' }, '2'),
    entry('quarantine drop', { id }, '1'),
    entry('replay', { status: 'applied', since: '2026-01-01T00:00:00.000Z' }, '0'),
    entry('sql', { write: false }, '2'),
    entry('sql', { write: true }, null),
    entry('sql', { write: false }, null),
  ]);
});

describe('while the log cannot be written', () => {
  const canary = 'CANARY';
  const commands = [
    ['quarantine', 'show'],
    ['quarantine', 'replay'],
    ['quarantine', 'drop', '--all'],
    ['replay', '--status', 'applied'],
    ['sql', 'select body::text from quarantine'],
    ['sql', 'select convert_from(body, $$UTF8$$)::int from quarantine'],
    ['sql', '--write', 'delete from quarantine'],
    ['audit', 'list'],
    ['audit', 'list', '--as-patients', '--actor', asha.name, '--since', '1d'],
  ];
  beforeEach(async () => {
    await reject(canary);
    await logAccess(database.db, { actor: asha, action: 'reveal', patients: [canary] });
  });

  it.each(commands)('%s %s shows and changes nothing', async (...args) => {
    await database.pool.query('alter table access_log add constraint full_up check (entry < 2)');
    const { code, output } = await run(args);
    expect(code).toBe(1);
    expect(output).toContain('The access log could not be written, so nothing is shown or done');
    expect(output).not.toContain(canary);
    expect(await database.rows('select from quarantine where replayed_at is null')).toHaveLength(1);
  });

  it('of a database that is not migrated, the error says what to do', async () => {
    const old = await createEmptyDatabase();
    const { code, output } = await run(['sql', 'select 1'], old.url);
    expect([code, output]).toEqual([1, expect.stringContaining('run `receiver migrate`')]);
    await old.close();
  });
});
