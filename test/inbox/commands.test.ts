import { randomUUID } from 'node:crypto';
import { addInboxCommands } from '../../src/inbox/commands.ts';
import { listQuarantine, readQuarantined, replayQuarantined } from '../../src/inbox/replay.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { coreOf, mergeAll, storeAndMerge } from '../support/core.ts';
import { reject } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { testConfig } from '../support/service.ts';

const database = useReceiverDatabase('test');
let core: Core;
beforeEach(() => {
  core = coreOf(database, testConfig());
});
const run = (...args: string[]) => runCommand(core, addInboxCommands, ...args);
const logged = () =>
  database.rows(
    'select action, filter, rows, cardinality(subjects) as patients from public.access_log order by entry',
  );

const event_time = Math.floor(Date.now() / 1000) - 60;
const receipt = (receipt_id: unknown, data: object = {}) => ({
  ...{ event: 'receipt.created', event_time, business_id: 'b1' },
  data: { receipt_id, ...data },
});
const store = (...callbacks: object[]) => storeAndMerge(core, ...callbacks);

it('replay lets the failed callbacks of a family, or the given ones, wait again, and names unknown ids', async () => {
  const [id] = await store(receipt(7));
  await database.rows(
    `insert into receiver.pending_deliveries (id, family, next_at) values ($1, 'receipt', 'infinity')`,
    [id],
  );
  await expect(run('replay', '--family', 'nothing')).rejects.toThrow('--family must be one of');
  await expect(run('replay', 'no-id')).rejects.toThrow('UUID');
  expect(await run('replay', '--family', 'consent_form')).toContain('0 wait');
  expect(await run('replay')).toContain('1 waits for a worker');
  expect(await run('replay', id!.toUpperCase(), randomUUID())).toMatch(
    /1 waits[\s\S]*1 of the ids is of no stored callback/,
  );
  expect(await database.rows(`select id from public.deliveries where status = 'received'`)).toEqual([{ id }]);
  expect(await logged()).toMatchObject([
    { action: 'replay' },
    { action: 'replay' },
    { filter: { given: 2 } },
  ]);
  await mergeAll(core);
  // Also one that was applied.
  await database.rows('delete from receipts');
  await run('replay', id!);
  await mergeAll(core);
  expect(await database.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '7' }]);
});

it('rebuild brings rows back that somebody has changed or deleted', async () => {
  await store(receipt(7, { net_amount: 5 }), receipt(8, { net_amount: 6 }));
  await database.rows('update receipts set net_amount = 0 where receipt_id = 7');
  await database.rows('delete from receipts where receipt_id = 8');
  expect(await run('rebuild')).toContain('rebuild');
  expect(await database.rows('select net_amount from receipts order by receipt_id')).toEqual([
    { net_amount: '5' },
    { net_amount: '6' },
  ]);
});

it('quarantine lists and shows bodies, replays what is right by now, and says why the others stay', async () => {
  await reject(database, [receipt({}, { patient_oid: 'P1' }), '{']);
  const listed = await run('quarantine', 'list', '--limit', '5');
  const [, id] = /([\da-f]{8}-[\da-f-]{27}).*\/data\/receipt_id/.exec(listed)!;
  expect(await run('quarantine', 'show', id!)).toMatch(/ invalid\n[\s\S]*"patient_oid": "P1"/);
  await expect(run('quarantine', 'show', randomUUID())).rejects.toThrow('not in the quarantine');
  await expect(run('quarantine', 'replay')).rejects.toThrow('or --all');
  expect(await run('quarantine', 'replay', '--all')).toMatch(/rejected/);
  await database.rows('update receiver.quarantine set body = $1 where id = $2', [
    JSON.stringify(receipt(7)),
    id,
  ]);
  expect(await run('quarantine', 'replay', id!, '--dry-run')).toMatch(/accepted.*nothing was changed/s);
  expect(await database.rows('select from receiver.inbox')).toHaveLength(0);
  expect(await run('quarantine', 'replay', id!)).toContain('accepted');
  expect(await database.rows('select from receiver.inbox')).toHaveLength(1);
  expect(await run('quarantine', 'list')).not.toContain(id);
  expect(await logged()).toMatchObject([
    { action: 'body', patients: 1, rows: 1 },
    { action: 'body', rows: 0 },
    { action: 'quarantine replay', rows: 2 },
    { action: 'quarantine replay', rows: 1 },
  ]);
});

it('a replay takes an event that no family lists, also where its path is gone', async () => {
  const unknown = { event: 'lab.report', event_time: 1, business_id: 'b', data: {} };
  const [id] = await reject(database, [unknown], { family: 'other' });
  await database.rows(`update receiver.quarantine set path = '/a-former-secret', body = $1`, [
    JSON.stringify({ ...unknown, event_time: 1_700_000_000 }),
  ]);
  expect(await run('quarantine', 'replay', id!)).toContain('accepted');
  expect(await database.rows('select family from receiver.inbox')).toEqual([{ family: 'other' }]);
  expect(await run('quarantine', 'replay', id!)).toContain(`accepted since: ${id}`);
});

it('quarantine drops the given bodies, and no others', async () => {
  const [first, second, third] = await reject(database, ['{', '[', '[{']);
  await expect(run('quarantine', 'drop')).rejects.toThrow('missing required argument');
  await expect(run('quarantine', 'list', '--limit', 'x')).rejects.toThrow('must be a whole number');
  await database.rows('update receiver.quarantine set replayed_at = now() where id = $1', [first]);
  expect(await run('quarantine', 'drop', first!, second!)).toContain('2 dropped');
  expect(await database.rows('select id from receiver.quarantine')).toEqual([{ id: third }]);
  expect(await logged()).toMatchObject([{ action: 'quarantine drop', rows: 2 }]);
});

/** Has a callback refused at a path, and returns its id in the quarantine. */
async function refuse(callback: object, family = 'receipt'): Promise<string> {
  const ids = await reject(database, [callback], { family });
  await database.rows(`update receiver.quarantine set received_at = '2026-02-03T04:05:06Z'`);
  return ids.at(-1)!;
}

it('a body that is replayed is applied once, keeps its arrival, and is listed no more', async () => {
  const id = await refuse(receipt(7), 'consent_form');
  const twice = await Promise.all([replayQuarantined(core, [id]), replayQuarantined(core, [id])]);
  expect(twice.flatMap((one) => [...one.values()].map(({ outcome }) => outcome))).toContain('accepted');
  expect(await replayQuarantined(core, [id])).toEqual(new Map());
  expect(await database.rows('select record_id, received_at from receiver.inbox')).toEqual([
    { record_id: '7', received_at: new Date('2026-02-03T04:05:06Z') },
  ]);
  await mergeAll(core);
  expect(await database.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '7' }]);
  expect(await listQuarantine(core.db)).toEqual([]);
  expect(await readQuarantined(core, id)).toMatchObject({ replayed_at: expect.any(Date), count: 1 });
  const again = await refuse(receipt(7), 'consent_form');
  expect((await replayQuarantined(core, [again])).get(again)).toMatchObject({ outcome: 'duplicate' });
});

it('a body that is refused again stays, also for the filter of businesses', async () => {
  const id = await refuse(receipt({}));
  const results = await replayQuarantined(core, [id]);
  expect(results.get(id)).toMatchObject({
    outcome: 'rejected',
    rejection: { errors: [{ path: '/data/receipt_id' }] },
  });
  const sound = await refuse(receipt(8), 'consent_form');
  const elsewhere = coreOf(database, testConfig({ authentication: { allowedBusinessIds: ['b2'] } }));
  const refused = await replayQuarantined(elsewhere, [sound]);
  expect(refused.get(sound)).toMatchObject({
    outcome: 'rejected',
    rejection: { message: 'This business_id is not allowed.' },
  });
  const listed = await listQuarantine(core.db);
  expect(listed.map(({ id, count }) => [id, count]).sort()).toEqual(
    [id, sound].map((one) => [one, 1]).sort(),
  );
});

describe('sql', () => {
  it('without a statement lists the views that can be read, a line each, with what they have', async () => {
    const lines = (await run('sql')).split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/ reporting\.receipts .* The newest version of each/));
    expect(lines).toContainEqual(expect.stringMatching(/ deliveries .* Every acknowledged callback/));
    expect(lines.filter((line) => /\. [A-Z]/.test(line))).toEqual([]);
  });

  it('prints a row as one line, also with line feeds', async () => {
    expect(await run('sql', `select e'a\\nb' as text union all select 'c'`)).toMatch(
      /├─+┤\n│ a\\nb *│\n│ c *│\n└/,
    );
  });

  it('prints rows as a table, CSV or JSON, also very many, behind an entry without the statement', async () => {
    expect(await run('sql', 'select 12.50::numeric as amount, null as nothing')).toMatch(
      /12\.50[\s\S]*1 row\n/,
    );
    expect(await run('sql', '--json', `select 1 as a, '{2}'::int[] as a`)).toBe('{"a":"1","a_2":"{2}"}\n');
    expect(await run('sql', '--csv', `select 'a "b"' as a, null as nothing, '=1' as a`)).toBe(
      `a,nothing,a\r\n"a ""b""",,'=1\r\n`,
    );
    expect(await run('sql', 'select generate_series(1, 12000)')).toContain('12000 rows');
    await expect(run('sql', 'copy (select 1) to stdout')).rejects.toThrow('--csv');
    expect(await logged()).toEqual(
      [1, 1, 1, 12_000, 0].map((rows) => ({ action: 'sql', filter: {}, rows, patients: 0 })),
    );
  });

  it.each([
    'delete from receipts',
    'create temp table mine ()',
    'set transaction read write',
    `do $$ begin set transaction read write; delete from receipts; end $$`,
    `select 1; select 2`,
  ])('changes nothing: %s', async (statement) => {
    await expect(run('sql', statement)).rejects.toThrow(/read-only|read-write mode|multiple commands/);
    // An error may say what there is.
    expect(await logged()).toMatchObject([{ action: 'sql', rows: null }]);
  });
});
