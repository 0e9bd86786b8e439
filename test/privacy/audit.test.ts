import fc from 'fast-check';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { holdPatient, releasePatient } from '../../src/privacy/hold.ts';
import { logAccess } from '../../src/privacy/log/access-log.ts';
import {
  type LogHead,
  type LogProblem,
  type VerifyOptions,
  verifyLog,
} from '../../src/privacy/log/verify-log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { useDatabase } from '../support/database.ts';

const actor = { id: 'test' };

const database = useDatabase({ per: 'test' });

/** Adds entries of every shape. */
const fill = (entries: number) =>
  database.rows(
    `select log_access(
       case when n % 3 = 0 then 'admin-token' else 'sub-' || n % 5 end, nullif('name ' || n % 2, 'name 0'),
       nullif('10.0.0.' || n % 4, '10.0.0.0'), 'reveal', array(select 'patient ' || n % 7 + m from generate_series(1, n % 4) m),
       true, case n % 2 when 0 then '{}' else '{"page": "receipts"}' end::jsonb, nullif(n % 6, 0))
     from generate_series(1, $1) n`,
    [entries],
  );

/** Runs statements as somebody who may disable triggers. */
async function tamper(...statements: string[]): Promise<void> {
  await database.rows(
    ['begin', 'set local session_replication_role = replica', ...statements, 'commit'].join(';'),
  );
}

async function verify(options: Partial<VerifyOptions> = {}) {
  const problems: LogProblem[] = [];
  const head = await verifyLog(database.db, { onProblem: (problem) => problems.push(problem), ...options });
  return { problems, head };
}

/** The entries that a problem names. */
const named = (problems: LogProblem[]) =>
  new Set(
    problems.flatMap(({ from, to }) =>
      Array.from({ length: Number(to - from) + 1 }, (_, i) => Number(from) + i),
    ),
  );

const columns = [
  `actor = actor || 'x'`,
  `actor_name = coalesce(actor_name || 'x', '')`,
  `address = coalesce(address || 'x', '')`,
  `action = 'audit'`,
  `at = at + interval '1 microsecond'`,
  `at = 'infinity'`,
  `patients = patients || sha256('')`,
  `patients = patients[2:]`,
  `filter = filter || '{"x": 1}'`,
  'rows = coalesce(rows, 0) + 1',
  'rows = nullif(rows, 1)',
  'previous = sha256(previous)',
  'hash = sha256(hash)',
];
const content = ['at', 'actor', 'actor_name', 'address', 'action', 'patients', 'filter', 'rows'];
const swapped = (list: string[]) =>
  `(${list.join(', ')}) = (select ${list.join(', ')} from access_log o where o.entry =`;

/** Statements that change, remove or exchange entries up to a number. */
function tampering(entries: number) {
  const entry = fc.integer({ min: 1, max: entries });
  const pair = fc.tuple(entry, entry);
  return fc.oneof(
    fc
      .tuple(fc.constantFrom(...columns), entry)
      .map(([set, n]) => `update access_log set ${set} where entry = ${n}`),
    entry.map((n) => `delete from access_log where entry = ${n}`),
    fc
      .tuple(entry, fc.nat(4))
      .map(([n, more]) => `delete from access_log where entry between ${n} and ${n + more}`),
    entry.map((n) => `update access_log set entry = ${2 * entries} - entry where entry = ${n}`),
    fc.tuple(pair, fc.constantFrom(content, [...content, 'hash'], [...content, 'previous', 'hash'])).map(
      ([
        [a, b],
        list,
      ]) => `update access_log a set ${swapped(list)} ${a} + ${b} - a.entry) where entry in (${a}, ${b})
        and (select count(*) from access_log where entry in (${a}, ${b})) = 2`,
    ),
  );
}

/** Restores the log, runs the statements, and compares what `verify` names with what differs. */
async function expectFound(statements: string[]): Promise<void> {
  await tamper('delete from access_log', 'insert into access_log table pristine', ...statements);
  const rows = await database.rows(
    'select entry from access_log a full join pristine p using (entry) where a is distinct from p',
  );
  const different = new Set(rows.map(({ entry }) => Number(entry)));
  const found = named((await verify({ page: 50 })).problems);
  expect([...different].filter((entry) => !found.has(entry))).toEqual([]);
  const near = (entry: number) => [entry - 1, entry, entry + 1].some((other) => different.has(other));
  expect([...found].filter((entry) => entry <= 200 && !near(entry))).toEqual([]);
}

describe('a log of 200 entries', () => {
  beforeEach(async () => {
    await fill(200);
    await database.rows('create table pristine as table access_log');
  });

  it('names every entry that was changed, removed or exchanged, and no others', async () => {
    const alone = fc.array(tampering(200), { minLength: 1, maxLength: 3 });
    await fc.assert(fc.asyncProperty(alone, expectFound), { numRuns: 60 });
    const groups = fc.array(tampering(200), { minLength: 50, maxLength: 100, size: 'max' });
    await fc.assert(fc.asyncProperty(groups, expectFound), { numRuns: 20 });
  });

  it('names an entry that was changed together with its hash', async () => {
    const rehashed = fc.integer({ min: 1, max: 200 }).map(
      (n) => `update access_log set action = 'audit', hash = access_log_hash(
        previous, entry, at, actor, actor_name, address, 'audit', patients, filter, rows) where entry = ${n}`,
    );
    await fc.assert(
      fc.asyncProperty(rehashed, (statement) => expectFound([statement])),
      { numRuns: 50 },
    );
  });
});

it('a log that nobody changed verifies, also an empty one, and its head is that of the metric', async () => {
  const empty = await verify();
  expect(empty.problems).toEqual([]);
  expect((await verify({ kept: empty.head })).problems).toEqual([]);
  await fill(60);
  const { problems, head } = await verify({ page: 20 });
  expect(problems).toEqual([]);
  expect([{ entry: String(head.entry), hash: head.hash }]).toEqual(
    await database.rows(`select entry, encode(hash, 'hex') as hash from access_log_head`),
  );
  expect((await verify({ kept: empty.head })).problems).toEqual([]);
});

it('entries that 20 connections add at once are one chain', async () => {
  const crowd = openDatabase(database.url, createLog('silent'), { connections: 20, name: 'test' });
  const actor = { id: 'somebody' };
  await Promise.all(
    Array.from({ length: 20 }, async (_, patient) => {
      for (let n = 0; n < 20; n += 1) {
        await logAccess(crowd.db, {
          actor,
          action: 'reveal',
          patients: [`patient ${patient}`, `patient ${n}`],
        });
      }
    }),
  );
  await crowd.close();
  expect((await verify()).head.entry).toBe(400n);
  expect((await verify()).problems).toEqual([]);
});

it.each([
  `update access_log set actor = 'nobody' where entry = 3`,
  'delete from access_log where entry = 3',
  'truncate access_log',
])('the database refuses: %s', async (statement) => {
  await fill(5);
  await expect(database.rows(statement)).rejects.toThrow('neither changed nor deleted');
  expect((await verify()).problems).toEqual([]);
});

it('the head itself is checked: changed, missing, or of another entry', async () => {
  await fill(5);
  const afterwards = async (statement: string) => {
    await tamper(statement);
    return (await verify()).problems;
  };
  expect(await afterwards('update access_log_head set hash = sha256(hash)')).toMatchObject([
    { from: 5n, to: 5n },
  ]);
  expect(await afterwards('update access_log_head set entry = 7')).toMatchObject([{ from: 6n, to: 7n }]);
  expect(await afterwards('update access_log_head set entry = 3')).toMatchObject([{ from: 4n, to: 5n }]);
  expect(await afterwards('delete from access_log_head')).toHaveLength(1);
});

it('added entries are named: at the end, before the first, with a number twice, and without a number', async () => {
  await fill(5);
  const copy = (entry: string) => `insert into access_log
    select ${entry}, at, actor, actor_name, address, action, patients, filter, rows, previous,
      access_log_hash(previous, ${entry}, at, actor, actor_name, address, action, patients, filter, rows)
    from access_log where entry = 5`;
  await tamper(copy('6'), copy('0'));
  expect(named((await verify()).problems)).toEqual(new Set([0, 5, 6]));
  await tamper(
    'delete from access_log where entry in (0, 6)',
    'alter table access_log drop constraint access_log_pkey, alter column entry drop not null',
    copy('5'),
  );
  expect(named((await verify()).problems)).toContain(5);
  await tamper(
    'delete from access_log where ctid = (select max(ctid) from access_log where entry = 5)',
    copy('null'),
  );
  expect((await verify()).problems).toMatchObject([
    { problem: expect.stringContaining('1 entries without') },
  ]);
});

/** Statements that change or remove an entry and rebuild the chain after it, head included. */
const rebuilt = (entry: number, change: 'changed' | 'removed') => [
  `create table rebuilt as with recursive chain as (
     select * from access_log where entry = ${entry - 1}
     union all
     select l.entry, l.at, 'nobody', l.actor_name, l.address, l.action, l.patients, l.filter, l.rows, c.hash,
       access_log_hash(c.hash, l.entry, l.at, 'nobody', l.actor_name, l.address, l.action, l.patients, l.filter, l.rows)
     from chain c join access_log l
       on l.entry = c.entry + case when ${change === 'removed'} and c.entry = ${entry - 1} then 2 else 1 end
   ) table chain`,
  `delete from access_log where entry >= ${entry - 1}`,
  'insert into access_log table rebuilt',
  'update access_log_head h set hash = l.hash from access_log l where l.entry = h.entry',
];

it('a chain that was rebuilt without an entry lacks its number', async () => {
  await fill(30);
  await tamper(...rebuilt(12, 'removed'));
  expect((await verify()).problems).toMatchObject([{ from: 12n, to: 12n, problem: 'removed' }]);
});

it('a chain that was rebuilt is found with a head that was kept elsewhere', async () => {
  await fill(30);
  const { head: kept } = await verify();
  await fill(30);
  expect((await verify({ kept })).problems).toEqual([]);
  await tamper(...rebuilt(11, 'changed'));
  expect((await verify()).problems).toEqual([]);
  expect((await verify({ kept })).problems).toMatchObject([{ from: 30n, to: 30n }]);
  const later: LogHead = { ...kept, entry: 99n };
  expect((await verify({ kept: later })).problems).toMatchObject([{ from: 99n, to: 99n }]);
});

it('entries that retention deleted are not missed, others before or after them are', async () => {
  await fill(30);
  const [{ hash }] = (await database.rows(
    `select encode(hash, 'hex') as hash from access_log where entry = 20`,
  )) as [{ hash: string }];
  const retention = (through: number, its: string) =>
    database.rows(`select append_access_log('worker', null, null, 'retention', '{}', false, $1, null)`, [
      { access_log: { through, hash: its } },
    ]);
  await retention(20, hash);
  expect((await verify()).problems).toEqual([]);
  await tamper('delete from access_log where entry <= 12');
  expect((await verify()).problems).toEqual([]);
  await tamper('delete from access_log where entry <= 20');
  expect((await verify()).problems).toEqual([]);
  expect((await verify({ kept: { entry: 20n, hash } })).problems).toEqual([]);
  expect((await verify({ kept: { entry: 19n, hash } })).problems).toMatchObject([
    { from: 19n, problem: expect.stringContaining('deleted by retention') },
  ]);
  await retention(20, '0'.repeat(64));
  expect((await verify()).problems).toMatchObject([{ from: 21n, to: 21n }]);
  await retention(20, hash);
  await tamper('delete from access_log where entry <= 22');
  expect((await verify()).problems).toMatchObject([{ from: 21n, to: 22n, problem: 'removed' }]);
});

it('a function of the database that was replaced hides nothing', async () => {
  await fill(5);
  await tamper(`update access_log set actor = 'nobody' where entry = 3`);
  await database.rows(`
    create or replace function access_log_hash(
      previous bytea, entry bigint, at timestamptz, actor text, actor_name text, address text, action text,
      patients bytea[], filter jsonb, rows bigint
    ) returns bytea language sql return (select hash from access_log l where l.entry = access_log_hash.entry);
    create function sha256(text) returns bytea language sql return ''::bytea`);
  expect(named((await verify()).problems)).toEqual(new Set([3]));
});

describe('the ids beside the log', () => {
  const see = (...patients: string[]) => logAccess(database.db, { actor, action: 'reveal', patients });

  it.each([
    ['was removed', `delete from patient_pseudonyms where patient_id = 'one'`, { from: 1n, to: 1n }],
    ['were all removed', 'truncate patient_pseudonyms', { from: 1n, to: 2n }],
    [
      'was replaced',
      `update patient_pseudonyms set patient_id = 'other' where patient_id = 'two'`,
      { from: 2n, to: 2n },
    ],
    [
      'were exchanged',
      `update patient_pseudonyms set patient_id = case patient_id when 'one' then 'two' else 'one' end`,
      { from: 1n, to: 2n },
    ],
  ])('a verification finds that one %s', async (_, statement, where) => {
    await see('one');
    await see('two');
    expect((await verify()).problems).toEqual([]);
    await tamper(statement);
    expect((await verify()).problems).toMatchObject([where]);
  });

  it('an erasure removes one without a problem, and what names the patient later has to be there', async () => {
    await see('one');
    await see('two');
    await erasePatient(database.db, families, { id: 'one' }, { actor, keepMs: 0, keepsTotals: false });
    expect(await database.rows('select patient_id from patient_pseudonyms')).toEqual([{ patient_id: 'two' }]);
    expect((await verify()).problems).toEqual([]);
    await see('one');
    expect((await verify()).problems).toEqual([]);
    await tamper(`delete from patient_pseudonyms where patient_id = 'one'`);
    expect((await verify()).problems).toHaveLength(1);
  });

  it('what is not kept of a patient of whom nothing is held is not missed', async () => {
    await holdPatient(database.db, { id: 'one' }, actor);
    await releasePatient(database.db, { id: 'one' }, actor);
    await logAccess(database.db, { actor, action: 'export', patients: ['one'], anonymous: true, rows: 0 });
    await logAccess(database.db, { actor, action: 'audit', patients: ['one'], anonymous: true, rows: 4 });
    expect((await verify()).problems).toEqual([]);
  });
});
