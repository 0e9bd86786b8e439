import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addPrivacyCommands } from '../../src/privacy/commands.ts';
import { continueErasures, erasePatient, previewErasure } from '../../src/privacy/erase.ts';
import { applyErasures, exportErasures } from '../../src/privacy/erasures.ts';
import { privacy } from '../../src/privacy/feature.ts';
import { holdPatient, releasePatient } from '../../src/privacy/holds.ts';
import { exportPatient, identifyPatient } from '../../src/privacy/patient.ts';
import { applyRetention } from '../../src/privacy/retention.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { rebuildRows } from '../../src/receiver/worker/rebuild.ts';
import { coreOf, everything, mergeAll, stateOf, storeAndMerge, storeIn } from '../support/core.ts';
import { isWaiting, whileLocked } from '../support/database.ts';
import { deliveryOf, reject } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { runCommand } from '../support/run-command.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase('test');
let core: Core;
beforeEach(() => {
  core = coreOf(database);
});

const day = 86_400;
const now = Math.floor(Date.now() / 1000);

const store = (...callbacks: object[]) => storeAndMerge(core, ...callbacks);
const receipt = (receipt_id: number, data: object, event_time = now - day) => ({
  ...{ event: 'receipt.created', event_time, business_id: 'b1' },
  data: { receipt_id, ...data },
});
const actor = { id: 'somebody' };

it('an erasure that is killed in the middle is completed by a later process', async () => {
  const count = 300;
  const data = { patient_oid: 'CANARY', net_amount: 5 };
  await store(...Array.from({ length: count }, (_, n) => receipt(n, data)));
  const program = join(import.meta.dirname, 'erase-once.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, database.url, 'p:platform:CANARY'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await everything(core)).toContain('CANARY');
  await until(async () => (await continueErasures(core)) === 0);
  await mergeAll(core);
  expect(await everything(core)).not.toContain('CANARY');
  expect(
    await database.rows('select sum(net_amount)::int as sum, count(name)::int as names from receipts'),
  ).toEqual([{ sum: 5 * count, names: 0 }]);
});

it('a rejected body that a preview mentions goes where a person says so, and is not kept again', async () => {
  await store(receipt(1, { patient_oid: 'CANARY' }));
  await keep(randomUUID(), 'CANARY: not json');
  const subjects = ['p:platform:CANARY'];
  const { mentions } = await previewErasure(core, subjects);
  expect(mentions).toMatchObject([{ where: 'quarantine' }]);
  await erasePatient(core, actor, subjects, { also: mentions.map(({ id }) => id) });
  const gated = `select from receiver.withheld join receiver.erased on hash = receiver.hash_of('d:' || id)
    where family = 'receipt' and record_id is null`;
  expect(await database.rows(gated)).toHaveLength(1);
  expect(await everything(core)).not.toContain('CANARY');
});

it('what a person has named for an erasure is reduced alone and for good; an unknown id is refused', async () => {
  const named = receipt(2, { patient_oid: 'B', remarks: 'as CANARY-A says' });
  const [, note, lean] = await store(receipt(1, { patient_oid: 'CANARY-A' }), named, {
    ...receipt(2, { remarks: 'kept' }, now - day + 1),
    event: 'receipt.updated',
  });
  const subjects = await identifyPatient(core, actor, ['CANARY-A']);
  await expect(erasePatient(core, actor, subjects, { also: [randomUUID()] })).rejects.toThrow(
    'No callback and no rejected message',
  );
  expect(await database.rows('select from receiver.erasures')).toEqual([]);
  await erasePatient(core, actor, subjects, { also: [note!] });
  expect(await rebuildRows(core)).toMatchObject({ changed: 0, rows: 0 });
  const text = await everything(core);
  expect(text).not.toContain('CANARY-A');
  expect(text).toContain('kept');
  expect(text).toContain(lean);
  // Of the other patient, nothing else is erased.
  expect(await storeIn(core, deliveryOf(named), deliveryOf(receipt(3, { patient_oid: 'B' })))).toEqual([
    'duplicate',
    'accepted',
  ]);
  expect(await database.count(`receiver.inbox where 'p:platform:B' = any(subjects)`)).toBe(1);
});

/** Keeps a body in the quarantine, whatever it is. */
const keep = (id: string, body: string) =>
  database.rows(
    `insert into receiver.quarantine (id, path, family, reason, errors, body) values ($1, '/x', 'receipt', 'invalid', '[]', $2)`,
    [id, Buffer.from(body)],
  );
const refuse = (callback: object, options = {}) => reject(database, [callback], options);
const quarantined = async () =>
  (await database.rows(`select convert_from(body, 'UTF8') as body from receiver.quarantine`)).map(
    ({ body }) => String(body),
  );

it('refused bodies of a patient go with an erasure, also those that come later, and nobody else’s', async () => {
  const bad = (data: object, event_time: unknown = now - day) => ({
    ...{ event: 'receipt.updated', event_time, business_id: 'b1', data },
  });
  await store(receipt(1, { patient_oid: 'PAT-A' }), receipt(2, { patient_oid: 'B', aid: 'a-1' }));
  await refuse(bad({ patient_oid: 'PAT-A', name: 'CANARY' }));
  await refuse(bad({ receipt_id: 1, name: 'CANARY' }, 0));
  await refuse(bad({ patient_oid: 'B', name: 'kept' }));
  await refuse(bad({ receipt_id: 2, name: 'kept' }, 0));
  expect(await previewErasure(core, ['p:platform:PAT-A'])).toMatchObject({ bodies: 2, mentions: [] });
  await erasePatient(core, actor, ['p:platform:PAT-A']);
  await refuse(bad({ patient_oid: 'PAT-A', name: 'CANARY', remarks: 'again' }));
  await refuse(bad({ receipt_id: 1, name: 'CANARY', remarks: 'again' }, 0));
  await refuse(bad({ patient_oid: 'PAT-A', name: 'CANARY', remarks: 'of a wrong clock' }, now + 40 * day));
  await refuse({ ...bad({}), data: JSON.stringify({ patient_oid: 'PAT-A', name: 'CANARY' }) });
  await refuse(bad({ patient_oid: 'PAT-A', name: 'kept' }, Math.floor(Date.now() / 1000) + 60));
  expect(await everything(core)).not.toContain(Buffer.from('CANARY').toString('hex'));
  expect(await quarantined()).toHaveLength(3);
  expect((await quarantined()).join()).not.toContain('CANARY');
  expect(await database.rows('select from receiver.withheld where record_id is null')).toHaveLength(6);
});

it('a refused body that an erasure has taken out does not come back, though others share its record', async () => {
  await store(receipt(1, { patient_oid: 'A' }), receipt(1, { patient_oid: 'B' }));
  const lean = { event: 'receipt.updated', business_id: 'b1', data: { receipt_id: 1, name: 'CANARY' } };
  await refuse(lean);
  await erasePatient(core, actor, ['p:platform:A']);
  await refuse(lean);
  expect(await quarantined()).toEqual([]);
});

it('a refused body that is being kept while an erasure commits does not pass it', async () => {
  await database.rows(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(2); return new; end $$;
    create trigger slow before insert on receiver.quarantine for each row execute function slow()`);
  const acts: Promise<unknown>[] = [];
  await whileLocked(database, 'select pg_advisory_xact_lock(2)', async () => {
    acts.push(refuse({ event: 'x', data: { patient_oid: 'A' } }));
    await until(() => isWaiting(database, `locktype = 'advisory'`));
    acts.push(erasePatient(core, actor, ['p:platform:A']));
    await until(() => isWaiting(database, `relation = 'receiver.erased'::regclass`));
  });
  await Promise.all(acts);
  expect(await quarantined()).toEqual([]);
});

it('retention takes old refused bodies, not acknowledged or held ones, and old access log entries', async () => {
  core = coreOf(database, { retention: { quarantine: 10 * day * 1000, access_log: 400 * day * 1000 } });
  await store(receipt(1, { patient_oid: 'HELD' }));
  await refuse({ event: 'receipt.updated', event_time: 0, business_id: 'b1', data: { receipt_id: 1 } });
  const bodies = ['gone', 'recent', 'acknowledged', 'HELD'];
  for (const patient_oid of bodies)
    await refuse({ event: 'receipt.updated', event_time: now, data: { patient_oid } });
  const where = (text: string) => `position('${text}' in convert_from(body, 'UTF8')) > 0`;
  await database.rows(`update receiver.quarantine set acknowledged = ${where('acknowledged')},
    last_received_at = now() - case when ${where('recent')} then 9 else 11 end * interval '1 day'`);
  await holdPatient(core, actor, ['p:platform:HELD']);
  for (const days of [399, 401])
    await database.rows(`insert into access_log (at, actor, action, subjects, filter)
      values (now() - interval '${days} days', 'a', 'of ${days}', '{}', '{}')`);
  expect(await applyRetention(core, { dryRun: true })).toMatchObject({ quarantine: 1 });
  expect(await quarantined()).toHaveLength(5);
  expect(await applyRetention(core)).toMatchObject({ quarantine: 1, access_log: 1 });
  expect((await quarantined()).join()).not.toContain('gone');
  expect(await quarantined()).toHaveLength(4);
  expect(await database.rows(`select action from access_log where action like 'of %'`)).toEqual([
    { action: 'of 399' },
  ]);
  await releasePatient(core, actor, ['p:platform:HELD']);
  expect(await applyRetention(core)).toMatchObject({ quarantine: 2, access_log: 0 });
});

it('a preview finds an id as people and JSON write it, and no part of another word', async () => {
  const numbers = ['about 12-3456-7890-1234, who', 'about 12345678901234.', 'not 123456789012345'];
  const texts = [...numbers, 'x-a"b_c', 'not x-a"bXc'];
  const ids = await store(...texts.map((text) => ({ event: 'x.note', event_time: now, data: { text } })));
  await keep(randomUUID(), '{"n": "x-a\\"b_c"');
  const mentions = async (subject: string) =>
    (await previewErasure(core, [subject])).mentions.map(({ id, where }) =>
      where === 'callback' ? id : where,
    );
  expect(await mentions('p:abha:12345678901234')).toEqual([ids[0], ids[1]].sort());
  expect(await mentions('p:platform:x-a"b_c')).toEqual([ids[3], 'quarantine']);
  // Nobody names it, so it has to be said what it is.
  await expect(identifyPatient(core, actor, ['x-a"b_c'])).rejects.toThrow('No stored callback names');
  expect(await identifyPatient(core, actor, ['platform:x:y'])).toEqual(['p:platform:x:y']);
});

it('an export has the patient’s callbacks and rows, nothing of others, no contents of health records', async () => {
  await store(
    receipt(1, { patient_oid: 'A', name: 'Asha', amount_paid: 1 }),
    { ...receipt(1, { net_amount: 70 }, now - day + 1), event: 'receipt.updated' },
    receipt(2, { patient_oid: 'B', name: 'Berta' }),
    {
      event: 'abha.hiu_data_push',
      event_time: now,
      data: {
        oid: 'A',
        transaction_id: 't',
        entries: [{ content: 'SECRET' }],
        note: '{"entries": "SECRET"}',
      },
    },
  );
  for (const [patient_oid, name] of Object.entries({ A: 'Asha Rejected', B: 'Berta' }))
    await refuse({ ...receipt(0, {}), data: { patient_oid, name } });
  // What is no JSON has only its size and hash.
  await database.rows(`insert into receiver.quarantine
    select (jsonb_populate_record(q, jsonb_build_object('id', gen_random_uuid(), 'received_at', now(), 'body', 'no JSON'))).*
    from receiver.quarantine q where subjects = '{p:platform:A}'`);
  const text = await exportPatient(core, actor, ['p:platform:A']);
  expect(JSON.parse(text)).toMatchObject({
    rejected: [{ body: expect.stringContaining('Asha Rejected') }, { body: 'no JSON' }],
    callbacks: [{ callback: { data: { name: 'Asha' } } }, { callback: { data: { net_amount: 70 } } }, {}],
    rows: { receipts: [{ name: 'Asha', net_amount: 70 }] },
  });
  expect(text).not.toMatch(/Berta|SECRET/);
});

const receiptIds = async () =>
  (await database.rows('select receipt_id::int as id from receipts order by 1')).map(({ id }) => id);

it('a record goes by its newest event, unless it waits or is held; withheld data by its receipt', async () => {
  const old = (days: number) => now - days * day;
  core = coreOf(database, { retention: { receipt: 10 * day * 1000 }, erasure: { keepMs: 0 } });
  await store(
    receipt(1, { patient_oid: 'A' }, old(20)),
    receipt(2, { patient_oid: 'B' }, old(20)),
    { ...receipt(2, { net_amount: 1 }, old(5)), event: 'receipt.updated' },
    receipt(3, { patient_oid: 'HELD' }, old(20)),
    receipt(4, { patient_oid: 'C' }, old(20)),
  );
  await database.rows(`insert into receiver.pending_deliveries (id, family, next_at)
    select id, family, 'infinity' from receiver.inbox where record_id = '4'`);
  await database.rows(
    `insert into receiver.resends select id, 1, now() from receiver.inbox where record_id in ('1', '2')`,
  );
  await holdPatient(core, actor, ['p:platform:HELD']);
  expect(await applyRetention(core, { dryRun: true })).toMatchObject({ receipt: 1 });
  // No record is at fault, so none is tried alone.
  const ofAnother = { ...core, families: core.families.filter(({ name }) => name === 'receipt') };
  await expect(applyRetention(ofAnother)).rejects.toMatchObject({ errors: [{ name: 'OtherFamilies' }] });
  expect(await applyRetention(core)).toMatchObject({ receipt: 1 });
  expect(await receiptIds()).toEqual([2, 3, 4]);
  expect(await database.count('receiver.resends')).toBe(2);
  expect(await database.count(`receiver.inbox where record_id = '1'`)).toBe(0);

  await erasePatient(core, actor, ['p:platform:HELD']);
  expect(await database.count('receiver.withheld')).toBe(1);
  expect(await releasePatient(core, actor, ['p:platform:HELD'])).toBe(true);
  expect(await applyRetention(core)).toMatchObject({ receipt: 1, withheld: 1 });
  expect(await receiptIds()).toEqual([2, 4]);
});

it('retention passes a locked row, and later deletes it, like one that a crash has left', async () => {
  core = coreOf(database, { retention: { receipt: 10 * day * 1000 } });
  await store(...[1, 2, 3].map((id) => receipt(id, { patient_oid: 'A' }, now - 20 * day)));
  await database.rows(`delete from receiver.inbox where record_id = '1'`);
  await whileLocked(database, 'select from receipts where receipt_id < 3 for update', async () => {
    await expect(applyRetention(core)).rejects.toMatchObject({
      errors: [{ message: expect.stringContaining('locked by another session') }],
    });
  });
  expect(await receiptIds()).toEqual([1, 2]);
  expect(await applyRetention(core)).toMatchObject({ receipt: 0 });
  expect(await receiptIds()).toEqual([]);
});

it('a clock that is ahead alone deletes nothing', async () => {
  const keptMs = 10 * day * 1000;
  const retention = { receipt: keptMs, quarantine: keptMs, access_log: 400 * day * 1000 };
  core = coreOf(database, { retention, erasure: { keepMs: keptMs } });
  await store(receipt(1, { patient_oid: 'A' }), receipt(2, { patient_oid: 'B' }));
  await erasePatient(core, actor, ['p:platform:B']);
  await refuse({ event: 'receipt.updated', event_time: now, data: { patient_oid: 'A' } });
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 20 * 365 * day * 1000);
  const deleted = await applyRetention(core).finally(() => clock.mockRestore());
  expect(deleted).toEqual({ receipt: 0, quarantine: 0, access_log: 0, withheld: 0 });
});

it('a record stays while callbacks refer to it that are of its patient only through it', async () => {
  core = coreOf(database, { retention: { admission: 10 * day * 1000 } });
  const of = (event: string, data: object, transaction_id?: string) => ({
    ...{ event, event_time: now - 20 * day, business_id: 'b1', transaction_id, data },
  });
  await store(
    of('ipd_admissions.created', { id: 'a-1', pid: 'A' }),
    of('ipd_admissions.created', { id: 'a-2', pid: 'A' }),
    of('ipd_admissions_events.created', { id: 'e-1' }, 'ipd/b1/admissions/a-1/events/e-1'),
    of('ipd_admissions_events.created', { id: 'e-2', pid: 'B' }, 'ipd/b1/admissions/a-2/events/e-2'),
    of('ipd_admissions_events.updated', { id: 'e-2' }, 'ipd/b1/admissions/a-2/events/e-2'),
  );
  expect(await applyRetention(core)).toMatchObject({ admission: 1 });
  expect(await database.rows('select id from admissions')).toEqual([{ id: 'a-1' }]);
  await erasePatient(core, actor, ['p:platform:A']);
  expect(await database.count(`receiver.withheld where family = 'admission_event'`)).toBe(1);
});

it('a hold keeps what an erasure has withheld, also one of another patient that names the held one', async () => {
  core = coreOf(database, { retention: { other: 10 * day * 1000 }, erasure: { keepMs: 0 } });
  const of = (data: object) => ({ event: 'x.y', event_time: now - 20 * day, data });
  await store(of({ patient_id: 'A' }), of({ list: [{ pid: 'B' }, { pid: 'HELD' }] }));
  await holdPatient(core, actor, ['p:platform:A', 'p:platform:HELD']);
  await erasePatient(core, actor, ['p:platform:A']);
  // Takes the gate of the first one over.
  await erasePatient(core, actor, ['p:platform:A', 'p:platform:B']);
  const kept = () => Promise.all(['receiver.withheld', 'receiver.inbox'].map(database.count));
  await applyRetention(core);
  expect(await kept()).toEqual([2, 2]);
  await releasePatient(core, actor, ['p:platform:A', 'p:platform:HELD']);
  await mergeAll(core);
  await applyRetention(core);
  expect(await kept()).toEqual([0, 0]);
});

it('of an erased patient who is held, the originals of later callbacks are kept, too', async () => {
  await store(receipt(1, { patient_oid: 'A' }));
  await holdPatient(core, actor, ['p:platform:A']);
  await erasePatient(core, actor, ['p:platform:A']);
  const later = deliveryOf(receipt(2, { patient_oid: 'A', name: 'late' }));
  expect(await storeIn(core, later)).toEqual(['accepted']);
  expect(
    await database.rows(`select envelope->'data'->>'name' as name from receiver.withheld order by 1`),
  ).toEqual([{ name: 'late' }, { name: null }]);
});

/** Restores a backup from before the erasure, with these callbacks. @returns the file with the list of erasures */
async function restore(...callbacks: object[]): Promise<string> {
  const file = join(tempFolder(), 'list.json');
  await writeFile(file, await exportErasures(core.db));
  await database.rows(
    'truncate receiver.inbox, receiver.erased, receiver.erasures, receiver.withheld, receipts',
  );
  await store(...callbacks);
  return file;
}

it('a list of erasures that was interrupted is continued', async () => {
  const callbacks = Array.from({ length: 30 }, (_, n) =>
    receipt(n, { patient_oid: 'CANARY', net_amount: 5 }),
  );
  await store(...callbacks);
  await erasePatient(core, actor, ['p:platform:CANARY']);
  const file = await restore(...callbacks);
  const interrupted = applyErasures({ ...core, families: [] }, file);
  await expect(interrupted).rejects.toThrow('other families');
  expect(await everything(core)).toContain('CANARY');
  await until(async () => (await continueErasures(core)) === 0);
  expect(await everything(core)).not.toContain('CANARY');
});

it('a list of an erasure that had reduced nothing yet erases the callbacks that a person has named, too', async () => {
  const named = receipt(1, { patient_oid: 'B', remarks: 'of CANARY' });
  await store(named);
  const options = { also: [deliveryOf(named).id], signal: AbortSignal.abort() };
  await expect(erasePatient(core, actor, ['p:platform:A'], options)).rejects.toThrow('aborted');
  await applyErasures(core, await restore(named));
  expect(await everything(core)).not.toContain('CANARY');
});

it('the list of erasures is applied again after a restore, and begins a new epoch of the feed', async () => {
  const callbacks = [
    receipt(1, { patient_oid: 'CANARY', net_amount: 5 }),
    receipt(2, { patient_oid: 'B', name: 'Berta' }),
  ];
  await store(...callbacks);
  const body = randomUUID();
  await keep(body, 'CANARY');
  await erasePatient(core, actor, ['p:platform:CANARY'], { also: [body] });
  const file = await restore(...callbacks);
  await keep(body, 'CANARY');
  await refuse({ event: 'receipt.updated', event_time: now - day, data: { patient_oid: 'CANARY' } });
  await database.rows(`update receiver.quarantine set received_at = now() - interval '1 day'`);
  const epoch = () => database.rows(`select value from receiver.settings where name = 'feed_epoch'`);
  const before = await epoch();
  expect(await applyErasures(core, file)).toBe(1);
  expect(await database.rows('select * from receiver.erasures')).toMatchObject([
    { counts: { receipt: 1 }, completed_at: expect.any(Date) },
  ]);
  expect(await epoch()).not.toEqual(before);
  const text = await everything(core);
  expect(text).not.toContain('CANARY');
  expect(text).toContain('Berta');
  expect(await quarantined()).toEqual([]);
  expect(await database.rows('select sum(net_amount)::int as sum from receipts')).toEqual([{ sum: 5 }]);
  expect(await storeIn(core, deliveryOf(callbacks[0]!))).toEqual(['duplicate']);
});

it('a user.delete of the platform is a check for 30 days, or until its patient is erased', async () => {
  const request = (patient: string) => ({ event: 'user.delete', event_time: now, data: { oid: patient } });
  const [erased, other] = await store(request('A'), request('B'));
  await database.rows('update receiver.inbox set received_at = now()');
  const checked = async () => (await privacy.checks!(running)).map(({ about }) => about).sort();
  const running = { ...core, process: stateOf() };
  expect(await checked()).toEqual([erased, other].sort());
  await erasePatient(core, actor, ['p:platform:A']);
  expect(await checked()).toEqual([other]);
  await database.rows(`update receiver.inbox set received_at = now() - interval '31 days'`);
  expect(await checked()).toEqual([]);
});

it('nothing is shown or done without an entry in the access log, which has no id', async () => {
  await store(receipt(1, { patient_oid: 'CANARY' }));
  const run = (...args: string[]) => runCommand(core, addPrivacyCommands, ...args);
  expect(await run('patient', 'show', 'CANARY')).toContain('receipt.created');
  const entries = `select action, rows from access_log where receiver.hash_of('p:platform:CANARY') = any(subjects)`;
  expect(await database.rows(entries)).toEqual([{ action: 'reveal', rows: 1 }]);
  expect(JSON.stringify(await database.rows('select * from access_log'))).not.toContain('CANARY');
  await database.rows('alter table access_log rename to away');
  for (const command of ['show', 'export', 'hold', 'erase --yes', 'erase --dry-run'])
    await expect(run('patient', ...command.split(' '), 'CANARY')).rejects.toThrow('could not be written');
  expect(await everything(core)).toContain('CANARY');
  expect(await database.rows('select from receiver.holds')).toEqual([]);
});
