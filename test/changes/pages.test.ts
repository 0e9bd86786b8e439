import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { logReading } from '../../src/changes/log-reading.ts';
import { numberChanges } from '../../src/changes/open-feed.ts';
import { pageSchema } from '../../src/changes/query-schema.ts';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { consentFormCallback, receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { publicToken, serveChanges, token } from './serve.ts';

const { database, start } = useService({ per: 'test' });
const serve = serveChanges(start);

const receipt = (receipt_id: number, around: object = {}) =>
  receiptCallback({ ...around, data: { receipt_id } });
const idsOf = ({ changes: some }: { changes: { id: string }[] }) => some.map(({ id }) => id);

it('reads all records from the beginning, then what changed since, each once', async () => {
  await apply(database, [receipt(1), receipt(2), consentFormCallback()]);
  const { read } = await serve();
  const first = await read({ limit: '2' });
  expect(idsOf(first)).toEqual(['1', '2']);
  pageSchema(families).parse(first);
  const rest = await read({ after: first.next });
  expect(idsOf(rest)).toEqual(['mc-1']);
  expect(rest.changes[0]!.record).toMatchObject({ form_id: 'mc-1' });
  await apply(database, [receipt(3)]);
  await apply(database, [receipt(3, { event: 'receipt.deleted', event_time: 1_700_000_100 }), receipt(4)]);
  const last = await read({ after: rest.next });
  expect(last.changes.map(({ id, kind }) => [id, kind]).sort()).toEqual([
    ['3', 'deleted'],
    ['4', 'changed'],
  ]);
  expect(await read({ after: last.next, families: 'consent_form' })).toMatchObject({
    changes: [],
    more: false,
  });
  const [entry] = await database.rows(
    `select actor, action, rows::int from access_log order by entry desc limit 1`,
  );
  expect(entry).toEqual({ actor: 'changes-token', action: 'changes', rows: 2 });
});

it('an erased record is told as erased, also to whoever reads from an old position, and its data to nobody', async () => {
  const { read } = await serve();
  const { next } = await read();
  await apply(database, [receipt(1)]);
  const told = await read({ after: next });
  expect(told.changes).toMatchObject([{ id: '1', kind: 'changed' }]);
  await erasePatient(
    database.db,
    families,
    { id: String(told.changes[0]!.record!.patient_id) },
    { actor: { id: 'test' }, keepMs: 0 },
  );
  const gone = [{ id: '1', kind: 'erased', record: null }];
  expect((await read({ after: told.next })).changes).toMatchObject(gone);
  expect((await read({ after: next })).changes).toMatchObject(gone);
});

it('an erased patient is not named by the entry about a page that was read before the erasure', async () => {
  await apply(database, [receipt(1), receiptCallback({ data: { receipt_id: 2, patient_oid: 'other' } })]);
  const [{ id }] = (await database.rows(`select patient_oid as id from receipts where receipt_id = 1`)) as [
    { id: string },
  ];
  await erasePatient(database.db, families, { id }, { actor: { id: 'test' }, keepMs: 0 });
  const selection = { families: [], businessId: undefined };
  await logReading(database.db, { records: 2, patients: [id, 'other'] }, { id: 'test' }, selection);
  expect(await database.rows('select patient_id from patient_pseudonyms')).toEqual([{ patient_id: 'other' }]);
});

it('a public token reads no personal column, and leaves no entry in the access log', async () => {
  await apply(database, [receipt(1)]);
  const { read } = await serve();
  const [{ entries }] = (await database.rows('select count(*) as entries from access_log')) as [
    { entries: string },
  ];
  const { changes: some } = await read({}, { Authorization: `Bearer ${publicToken}` });
  expect(Object.keys(some[0]!.record!)).toEqual(expect.arrayContaining(['receipt_id', 'net_amount']));
  for (const personal of ['name', 'mobile', 'patient_id', 'remarks'])
    expect(some[0]!.record).not.toHaveProperty(personal);
  expect(await database.rows('select count(*) as entries from access_log')).toEqual([{ entries }]);
});

it('refuses other tokens, unknown parameters, and cursors of what a restored backup lacks', async () => {
  const { get, read } = await serve();
  expect((await get({}, { Authorization: 'Bearer another' })).status).toBe(401);
  expect((await get({ family: 'receipt' })).status).toBe(400);
  for (const after of ['made-up', `1.0.1.${'-'.repeat(36)}`])
    expect([after, (await get({ after })).status]).toEqual([after, 400]);
  expect((await get({ after: `1.0.1.${randomUUID()}` })).status).toBe(410);
  const { next } = await read();
  expect((await get({ after: next })).status).toBe(200);
  // Another change has the position now.
  await database.rows('update changes set tag = gen_random_uuid()');
  expect((await get({ after: next })).status).toBe(410);
});

it('records nothing while nobody has opened the feed', async () => {
  await apply(database, [receipt(1)]);
  expect(await database.rows('select from changed_records')).toEqual([]);
  await expect(numberChanges(database.db)).rejects.toThrow();
});

it('the consumer of the documents keeps a table current, and begins anew after a restored backup', async () => {
  await apply(database, [receipt(1), receipt(2)]);
  const { url } = await serve();
  const [, code] = /```js\n(.*?)```/s.exec(readFileSync('docs/changes.md', 'utf8'))!;
  const env = { ...process.env, DATABASE_URL: database.url, RECEIVER_URL: url, CHANGES_TOKEN: token };
  const consumer = spawn(process.execPath, ['--input-type=module', '-e', code!], { env, stdio: 'inherit' });
  const kept = async () =>
    (await database.rows('select id from paid order by id').catch(() => [])).map(({ id }) => id).join();
  await until(async () => (await kept()) === '1,2');
  await database.rows(`insert into paid values ('b', '0', 1); update changes set tag = gen_random_uuid()`);
  await apply(database, [receipt(3), receipt(1, { event: 'receipt.deleted', event_time: 1_700_000_100 })]);
  await until(async () => (await kept()) === '2,3');
  consumer.kill();
});
