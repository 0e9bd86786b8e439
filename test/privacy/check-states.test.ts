import { applyDeliveries } from '../../src/apply/apply.ts';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import {
  type CheckedStates,
  checkAllStates,
  findDueCheck,
  runCheck,
} from '../../src/privacy/check-states.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { block } from '../../src/store/blocked-deliveries.ts';
import { createLeases, type Leases } from '../../src/store/lease.ts';
import { createStateCheck, pauseAfter } from '../../src/worker/check-states.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, erasureTables, insertCallbacks } from '../support/deliveries.ts';
import { runCommand } from '../support/run-command.ts';

const database = useDatabase();
let leases: Leases;
beforeAll(() => {
  leases = createLeases(database.db);
});
beforeEach(async () => {
  await clear(database, ...erasureTables, 'lost_deliveries', 'state_checks', 'blocked_deliveries');
});

const settings = { actor: { id: 'test' }, keepMs: 86_400_000 };
const count = async (from: string) => Number((await database.rows(`select count(*) from ${from}`))[0]!.count);
const now = Math.floor(Date.now() / 1000);
const receipts = (number: number, from = now - number) =>
  Array.from({ length: number }, (_, index) =>
    receiptCallback({ event_time: from + index, data: { receipt_id: index + 1 } }),
  );
const runDue = async (...checks: string[]) => {
  await database.rows(
    `insert into state_checks (name, completed_at)
     select name, now() from unnest(array['recent', 'late', 'all']) as name where not name = any($1)
     on conflict (name) do update set completed_at = now()`,
    [checks],
  );
  return runDueNow();
};
const runDueNow = async () => {
  const steps: CheckedStates[] = [];
  for (;;) {
    const due = await findDueCheck(database.db, steps.at(-1)?.check);
    if (!due) return steps;
    steps.push(await runCheck(database.db, families, settings, due));
  }
};
const requeuedBy = async (...checks: string[]) =>
  (await runDue(...checks)).flatMap(({ requeued }) => requeued).toSorted();
const problems = async () =>
  (await readProblems(database.pool)).filter(({ kind }) => ['lost', 'without state'].includes(kind));

it.each([
  ['pending_deliveries is emptied', insertCallbacks, 'truncate pending_deliveries', 40],
  [
    'some of its rows are gone',
    insertCallbacks,
    `delete from pending_deliveries where id::text ~ '[0-7]$'`,
    undefined,
  ],
  [
    'those of applied_deliveries are',
    apply,
    `delete from applied_deliveries where id::text ~ '[0-7]$'`,
    undefined,
  ],
] as const)(
  'where %s, a worker gives all deliveries a state again and says how many',
  async (_, store, loss, all) => {
    const ids = await store(database, receipts(40));
    await database.rows(loss);
    const lines: string[] = [];
    const log = createLog('warn', { write: (line) => void lines.push(line) });
    const config = { erasure: { keepMs: 1 } };
    await createStateCheck(
      { db: database.db, leases, families, config: config as never, log },
      new AbortController().signal,
    )();
    const number = await count('pending_deliveries');
    if (all) expect(number).toBe(all);
    await applyDeliveries(database.db, families, ids);
    expect(await database.rows('select status, count(*)::int from deliveries group by 1')).toEqual([
      { status: 'applied', count: 40 },
    ]);
    expect([await count('receipts'), await count('receipt_versions')]).toEqual([40, 0]);
    expect(lines.join('')).toContain('deliveries had lost their state');
    expect(await problems()).toEqual([
      expect.objectContaining({
        kind: 'without state',
        status: 'warn',
        detail: expect.stringMatching(/^\d+ were in inbox and neither/),
      }),
    ]);
  },
);

it('what arrived in the last days is looked at often, also where its event was long ago; the rest once a day', async () => {
  const [recent] = await insertCallbacks(database, receipts(1));
  const [late] = await insertCallbacks(database, [receiptCallback({ event_time: 1_700_000_000 })]);
  const [old] = await insertCallbacks(database, [receiptCallback({ event_time: 1_700_000_001 })]);
  await database.rows(`update inbox set received_at = now() - interval '30 days' where id = $1`, [old]);
  await database.rows('truncate pending_deliveries');
  expect(await requeuedBy('recent')).toEqual([recent]);
  expect(await requeuedBy('late')).toEqual([]); // not due again
  await database.rows(`update state_checks set completed_at = now() - interval '6 minutes'`);
  expect(await requeuedBy('late')).toEqual([late]);
  await database.rows(`update state_checks set completed_at = now() - interval '25 hours'`);
  expect(await requeuedBy('all')).toEqual([old]);
});

it('a check that was interrupted continues where it was', async () => {
  const ids = (await insertCallbacks(database, receipts(4))).toSorted();
  await database.rows('truncate pending_deliveries');
  await database.rows(`insert into state_checks (name, after_id) values ('all', $1)`, [ids[1]]);
  expect(await requeuedBy('all')).toEqual(ids.slice(2));
  expect(
    await database.rows(
      `select after_id, completed_at is not null as done from state_checks where name = 'all'`,
    ),
  ).toEqual([{ after_id: null, done: true }]);
});

it('a state without its delivery is a loss: it is named and stays, until the delivery is received again', async () => {
  const callbacks = receipts(3);
  const ids = await apply(database, callbacks);
  await database.rows('alter table inbox disable trigger user');
  await database.rows('delete from inbox where id = any($1)', [ids.slice(0, 2)]);
  await database.rows('alter table inbox enable trigger user');
  await runDue('recent', 'all');
  expect(await database.rows('select id, family, lost_from from lost_deliveries order by id')).toEqual(
    ids
      .slice(0, 2)
      .toSorted()
      .map((id) => ({ id, family: 'receipt', lost_from: 'inbox' })),
  );
  expect(await count('applied_deliveries')).toBe(3);
  const [problem] = await problems();
  expect(problem).toMatchObject({ kind: 'lost', status: 'fail', subject: 'inbox receipt' });
  expect(problem!.detail).toMatch(
    /^2 that were received from .* Ask the platform to send the callbacks of that time again/,
  );

  const results = await insertDeliveries(database.pool, callbacks.map(deliveryOf));
  expect(results.toSorted()).toEqual(['accepted', 'accepted', 'duplicate']);
  expect(await problems()).toEqual([]);
  await applyDeliveries(database.db, families, ids);
  await database.rows('update state_checks set completed_at = null');
  await runDue('recent', 'late', 'all');
  await applyDeliveries(database.db, families, ids);
  expect(await count('lost_deliveries')).toBe(0);
  const states =
    'select id from pending_deliveries union all select id from failed_deliveries union all select id from applied_deliveries';
  expect((await database.rows(states)).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(await database.rows('select distinct status from deliveries')).toEqual([{ status: 'applied' }]);
});

it('a loss from another store, and one that was found long ago', async () => {
  await database.rows(`
    insert into lost_deliveries (id, family, received_at, lost_from, found_at) values
      (gen_random_uuid(), 'receipt', '2026-01-02', 'redis', now()),
      (gen_random_uuid(), 'notice', '2026-01-02', 'inbox', now() - interval '31 days')`);
  expect(await problems()).toEqual([expect.objectContaining({ kind: 'lost', subject: 'redis receipt' })]);
  const { code } = await runCommand(['sql', '--write', 'delete from lost_deliveries'], {
    DATABASE_URL: database.url,
  });
  expect(code).toBe(0);
  expect(await problems()).toEqual([]);
});

it('what was erased meanwhile is withheld, with the rows made of it, and does not become pending', async () => {
  const patient = String(receiptCallback().data.patient_oid);
  const named = receiptCallback({ event_time: now - 20, data: { receipt_id: 7 } });
  const nameless = receiptCallback({ event_time: now - 10, data: { receipt_id: 7, patient_oid: undefined } });
  await apply(database, [named]);
  await insertCallbacks(database, [nameless]);
  await database.rows('truncate pending_deliveries');
  await erasePatient(database.db, families, { id: patient }, settings);
  await runDue('recent');
  for (const table of ['inbox', 'pending_deliveries', 'receipts', 'receipt_versions'])
    expect([table, await count(table)]).toEqual([table, 0]);
  expect(await count('withheld.records')).toBe(2);
  expect(await database.rows(`select actor, action from access_log order by entry desc limit 1`)).toEqual([
    { actor: 'test', action: 'erase' },
  ]);
});

it.each(['without a state', 'pending again'])(
  'an erasure takes what was made of a delivery that is %s',
  async (state) => {
    const ids = await apply(
      database,
      [0, 1].map((at) => receiptCallback({ event_time: now - 10 + at, data: { receipt_id: 7 } })),
    );
    await database.rows('truncate applied_deliveries');
    if (state === 'pending again') await checkAllStates(database.db, families, settings, () => {});
    await erasePatient(database.db, families, { id: String(receiptCallback().data.patient_oid) }, settings);
    expect([await count('inbox'), await count('receipts'), await count('receipt_versions')]).toEqual([
      0, 0, 0,
    ]);
    expect(ids).toHaveLength(2);
  },
);

it('a delivery that is deleted without a state takes its version with it', async () => {
  const [older] = await apply(
    database,
    [0, 1].map((at) => receiptCallback({ event_time: now - 10 + at, data: { receipt_id: 7 } })),
  );
  await database.rows('truncate applied_deliveries');
  await database.rows('delete from deliveries where id = $1', [older]);
  expect(await count('receipt_versions')).toBe(0);
});

it('replay --status received makes all of them pending at once, says how many, and applies them', async () => {
  await insertCallbacks(database, receipts(5));
  await database.rows('truncate pending_deliveries');
  const replay = (...args: string[]) =>
    runCommand(['replay', '--status', 'received', ...args], { DATABASE_URL: database.url });
  expect((await replay('--dry-run')).output).toContain(
    '5 deliveries have no state: they would be pending again',
  );
  expect(await count('pending_deliveries')).toBe(0);
  const { code, output } = await replay();
  expect([code, output]).toEqual([
    0,
    expect.stringMatching(
      /5 deliveries had no state: they are pending again\n(.*\n)*5 applied, 5 rows changed, 0 fail/,
    ),
  ]);
  expect(await count('receipts')).toBe(5);
});

it('what a damaged page does not let it read is passed over, and the rest is checked', async () => {
  const ids = (await apply(database, receipts(2_000))).toSorted();
  await database.rows('delete from applied_deliveries where id = any($1)', [[ids[10], ids[1_990]]]);
  // A new index is not in memory. Its fourth page is a leaf.
  await database.rows('reindex index applied_deliveries_pkey; checkpoint');
  const [file] = await database.rows(
    `select current_setting('data_directory') || '/' || pg_relation_filepath('applied_deliveries_pkey') as path`,
  );
  await database.rows(
    `copy (select 1) to program 'dd if=/dev/urandom of=${file!.path} bs=8192 seek=4 count=1 conv=notrunc 2>&1'`,
  );
  const steps = await runDue('all');
  expect(steps.flatMap(({ damaged }) => damaged ?? [])[0]).toMatchObject({
    code: expect.stringMatching(/^XX00[12]$/),
  });
  expect(steps.flatMap(({ requeued }) => requeued).toSorted()).toEqual([ids[10], ids[1_990]]);
  await database.rows('reindex index applied_deliveries_pkey');
});

it('after a damaged page, which may be repaired, what arrived in the last days is compared again soon', async () => {
  await runDue('recent', 'late', 'all');
  await database.rows(`update state_checks set completed_at = now() - interval '31 seconds'`);
  expect(await findDueCheck(database.db)).toBeUndefined();
  await database.rows(`update state_checks set saw_damage = true`);
  expect((await runDueNow()).map(({ check }) => check)).toEqual(['recent', 'late']);
  expect(await findDueCheck(database.db)).toBeUndefined();
  await database.rows(`update state_checks set completed_at = now() - interval '31 seconds'`);
  expect(await findDueCheck(database.db)).toBeUndefined();
});

it('a step takes three percent of the time, but on a slow machine too the next one follows within ten seconds', () => {
  expect(pauseAfter(30, false) / 30).toBe(30);
  expect([pauseAfter(2_000, false), pauseAfter(60_000, true)]).toEqual([10_000, 10_000]);
});

it('a delivery that is set aside is left to the attempts with it alone', async () => {
  const [aside, lost] = await insertCallbacks(database, receipts(2));
  await block(database.db, [{ id: aside!, family: 'receipt', cause: 'damaged', detail: null }]);
  await database.rows('truncate pending_deliveries');
  expect(await requeuedBy('recent')).toEqual([lost]);
});

it('a worker with no check to do writes nothing', async () => {
  await runDue('recent', 'late', 'all');
  await database.rows(`delete from leases`);
  const options = {
    db: database.db,
    families,
    leases,
    config: { erasure: settings },
    log: createLog('silent'),
  };
  await createStateCheck(options, AbortSignal.timeout(60_000))();
  expect(await count('leases')).toBe(0);
});
