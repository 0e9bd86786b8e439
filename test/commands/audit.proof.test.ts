import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { logAccess } from '../../src/privacy/log/access-log.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { createEmptyDatabase, useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { spawnReceiver } from '../support/process.ts';

// Many processes, one after the other.

const database = useDatabase({ per: 'test' });

async function run(args: string[], url = database.url) {
  const command = spawnReceiver(args, { DATABASE_URL: url });
  const code = await command.end();
  return { code, output: command.output() };
}

const me = `command:${userInfo().username}`;
const patient = '161467756044204';
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
    ['audit', 'report', '--actor', asha.name, '--since', '1d'],
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

  it.each([
    ['quarantine', 'show'],
    ['sql', 'select body::text from quarantine'],
  ])('%s %s on a standby says so', async (...args) => {
    const role = `standby_${randomBytes(4).toString('hex')}`;
    await database.pool.query(`create role ${role} superuser login password '${role}'`);
    await database.pool.query(`alter role ${role} set default_transaction_read_only = on`);
    const standby = Object.assign(new URL(database.url), { username: role, password: role });
    const { code, output } = await run(args, standby.href);
    await database.pool.query(`drop role ${role}`);
    expect([code, output]).toEqual([1, expect.stringContaining('connect to the primary')]);
    expect(output).not.toContain(canary);
  });

  it('of a database that is not migrated, the error says what to do', async () => {
    const old = await createEmptyDatabase();
    const { code, output } = await run(['sql', 'select 1'], old.url);
    expect([code, output]).toEqual([1, expect.stringContaining('run `receiver migrate`')]);
    await old.close();
  });
});

it('audit list shows the newest entries first, filters them, and is an entry itself', async () => {
  await logAccess(database.db, { actor: asha, action: 'reveal', patients: [patient], rows: 1 });
  await logAccess(database.db, {
    actor: { id: 'admin-token' },
    action: 'export',
    patients: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
    filter: { page: 'receipts' },
  });
  const all = await run(['audit', 'list']);
  expect(all.output.indexOf('admin-token')).toBeLessThan(all.output.indexOf('sub-1'));
  for (const text of ['Asha Admin', '10.0.0.9', 'reveal', patient, '{"page":"receipts"}', 'and 2 more']) {
    expect(all.output).toContain(text);
  }
  expect(all.output).not.toContain('audit');
  for (const filter of [
    ['--actor', 'sub-1'],
    ['--actor', 'Asha Admin'],
    ['--action', 'reveal'],
    ['--patient', patient],
    ['--action', 'reveal', '--since', '1h', '--until', '2999-01-01'],
  ]) {
    const { output } = await run(['audit', 'list', ...filter]);
    expect(output).toContain(patient);
    expect(output).not.toContain('receipts');
  }
  expect((await run(['audit', 'list', '--until', '1h'])).output).not.toContain(patient);
  expect((await run(['audit', 'list', '--limit', '1'])).output).not.toContain(patient);
  const own = (await entries()).filter(({ action }) => action === 'audit');
  expect(own).toHaveLength(8);
  expect(own[1]).toEqual(entry('audit', { command: 'list', actor: 'sub-1' }, '1'));
  expect(own[4]).toEqual(entry('audit', { command: 'list' }, '1', [patient]));
});

it('a patient who is looked up in the log, and is not in it, is not kept in it', async () => {
  await run(['audit', 'list', '--patient', 'CANARY']);
  expect(await database.rows('select from access_log where cardinality(patients) = 1')).toHaveLength(1);
  expect(await database.rows('select from patient_pseudonyms')).toEqual([]);
});

it('audit report lists each patient whose data the actor saw, as CSV, erased ones by their pseudonym', async () => {
  const seen = (patients: string[], action: 'reveal' | 'export' = 'reveal') =>
    logAccess(database.db, { actor: asha, action, patients });
  await seen([patient, '=1+1']);
  await seen([patient], 'export');
  await seen(['erased one']);
  await seen([]);
  await logAccess(database.db, { actor: { id: 'another' }, action: 'reveal', patients: ['not seen'] });
  await database.pool.query(`delete from patient_pseudonyms where patient_id = 'erased one'`);
  const [{ pseudonym }] = (await database.rows(
    `select encode(patients[1], 'hex') as pseudonym from access_log where entry = 3`,
  )) as [{ pseudonym: string }];

  const { code, output } = await run(['audit', 'report', '--actor', 'Asha Admin', '--since', '1h']);
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
  const hash = '[0-9a-f]{64}';
  expect(code).toBe(0);
  expect(output).toContain('patient_id,pseudonym,first_seen_at,last_seen_at,times,actions\r\n');
  expect(output).toMatch(new RegExp(`^${patient},${hash},${time},${time},2,"export, reveal"\r$`, 'm'));
  expect(output).toMatch(new RegExp(`^'=1\\+1,${hash},${time},${time},1,reveal\r$`, 'm'));
  expect(output).toMatch(new RegExp(`^,${pseudonym},${time},${time},1,reveal\r$`, 'm'));
  expect(output).not.toContain('not seen');
  expect(output).toContain('1 entries of this actor name no patients');
  expect((await run(['audit', 'list'])).output).toContain(`erased ${pseudonym.slice(0, 8)}`);
  expect((await entries()).find(({ action }) => action === 'audit')).toMatchObject({ rows: '3' });

  const later = await run(['audit', 'report', '--actor', 'sub-1', '--since', '2999-01-01']);
  expect(later.output).toBe('patient_id,pseudonym,first_seen_at,last_seen_at,times,actions\r\n');
});

it('audit verify prints the head, and with --head it finds that the log was rebuilt', async () => {
  await apply(database, [receiptCallback()]);
  for (const name of ['a', 'b', 'c']) await logAccess(database.db, { actor: { id: name }, action: 'reveal' });
  const intact = await run(['audit', 'verify']);
  const [, head] = /^head (3:[0-9a-f]{64})$/m.exec(intact.output) ?? [];
  expect([intact.code, intact.output]).toEqual([0, expect.stringContaining('3 entries, none was changed')]);
  expect((await run(['audit', 'verify', '--head', head!])).code).toBe(0);
  const other = await run(['audit', 'verify', '--head', `3:${'0'.repeat(64)}`]);
  expect([other.code, other.output]).toEqual([
    1,
    expect.stringContaining('entry 3: not the entry of this --head'),
  ]);
  expect((await run(['audit', 'verify', '--head', '3'])).output).toContain('<entry>:<64 hex digits>');
});

it('audit verify names what was changed and removed, and fails', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    await logAccess(database.db, { actor: { id: name }, action: 'reveal' });
  await database.pool.query(`begin; set local session_replication_role = replica;
    update access_log set actor = 'x' where entry = 2; delete from access_log where entry in (4, 5); commit`);
  const { code, output } = await run(['audit', 'verify']);
  expect(code).toBe(1);
  expect(output).toContain('entry 2: changed: its content does not have its hash\n');
  expect(output).toContain('entries 4 to 5: removed from the end\n');
  expect(output).toContain('3 entries, 2 problems');
  expect(output).not.toMatch(/^head /m);
});
