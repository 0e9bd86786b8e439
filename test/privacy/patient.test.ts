import { sql } from 'kysely';
import { erasePatient } from '../../src/privacy/erase.ts';
import { holdPatient } from '../../src/privacy/holds.ts';
import { isRecordOf, readProfile } from '../../src/privacy/patient.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { coreOf, mergeAll, storeAndMerge } from '../support/core.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase('test');
let core: Core;
beforeEach(() => {
  core = coreOf(database);
});

const now = Math.floor(Date.now() / 1000);
const actor = { id: 'priya', name: 'Priya' };
const p1 = ['p:platform:P1'];

const store = (...callbacks: object[]) => storeAndMerge(core, ...callbacks);
/** @param age in seconds */
const callback = (event: string, age: number, data: object, business_id = 'b1') => ({
  ...{ event, event_time: now - age, business_id, data },
});
const receipt = (receipt_id: number, age: number, data: object, business_id?: string) =>
  callback('receipt.created', age, { receipt_id, created_at: (now - age) * 1000, ...data }, business_id);
const asha = { patient_oid: 'P1', name: 'Asha Rao', mobile: '9876543210' };
const read = (subjects: readonly string[] = p1) => readProfile(core, actor, subjects);
/** The receipts that are the patient's. */
async function receiptsOf({ callbacks }: Awaited<ReturnType<typeof read>>) {
  const own = callbacks.filter(({ family }) => family === 'receipt');
  const { rows } = await sql<{ id: string }>`
    select business_id || ' ' || receipt_id as id from public.receipts
    where ${isRecordOf(own, 'receipt_id', 'bigint')} order by id`.execute(core.db);
  return rows.map(({ id }) => id);
}
const entries = () =>
  database.rows(
    'select action, rows, cardinality(subjects) as patients from public.access_log order by entry',
  );

it('names, phones, callbacks and records of a patient are of every business, the newest first', async () => {
  const ids = await store(
    receipt(1, 90, { ...asha, receipt_number: 'JA-1', net_amount: 900, amount_paid: 700, doctor_oid: 'd1' }),
    receipt(
      2,
      80,
      { ...asha, name: 'Asha R', mobile: '+91 98765 43210', receipt_status: 'FAILED', aid: 'a1' },
      'b2',
    ),
    callback('receipt.deleted', 70, { receipt_id: 3 }),
    receipt(3, 71, { ...asha, mobile: '9000000001' }),
    callback('receipt.updated', 60, { receipt_id: 1, amount_paid: 900 }),
    callback('appointment.created', 50, {
      appointment_id: 'a1',
      patient_id: 'P1',
      created_at: now - 50,
      status: 'BK',
    }),
    callback('mcert.created', 40, { id: 'f1', patientid: 'P1', type: 'consent', url: 'https://f.invalid/1' }),
    callback('prescription.created', 30, {
      prescription_id: 'x1',
      patient_id: 'P1',
      prescription_url: 'https://x.invalid/1',
    }),
    callback('x.note', 20, { patient_id: 'P1', partner_patient_id: 'mine' }),
    callback('booking.init', 10, { order_id: 'o1', billing: { name: 'A. Rao' }, patient: { id: 'P1' } }),
    // Others' records, one with the same number in another business.
    receipt(1, 5, { patient_oid: 'P2', name: 'Ravi', mobile: '9876543210' }, 'b2'),
    callback('appointment.created', 5, { appointment_id: 'a2', patient_id: 'P2' }),
  );
  const profile = await read();
  expect(profile).toMatchObject({
    ...{ names: ['A. Rao', 'Asha Rao', 'Asha R'], phones: ['9876543210', '9000000001'] },
    ...{ otherSubjects: ['p:partner:b1:mine'], isHeld: false },
  });
  expect(profile.callbacks.map(({ id }) => id)).toEqual([9, 8, 7, 6, 5, 4, 2, 3, 1, 0].map((at) => ids[at]));
  expect(await receiptsOf(profile)).toEqual(['b1 1', 'b1 3', 'b2 2']);
  // The other id in the same callbacks is shown, too.
  expect(await entries()).toEqual([{ action: 'reveal', rows: 10, patients: 2 }]);
});

it('a record that was corrected and is another patient’s now belongs to that one alone', async () => {
  await store(
    receipt(1, 90, asha),
    callback('receipt.updated', 80, { receipt_id: 1, patient_oid: 'P2', name: 'Ravi', mobile: '1234567890' }),
    callback('receipt.updated', 70, { receipt_id: 1, amount_paid: 5 }),
  );
  const [former, present] = [await read(), await read(['p:platform:P2'])];
  expect(former).toMatchObject({ names: [], phones: [], callbacks: [{ eventMs: (now - 90) * 1000 }] });
  expect(present).toMatchObject({ names: ['Ravi'], phones: ['1234567890'] });
  expect(present.callbacks).toHaveLength(2);
  expect(await receiptsOf(former)).toEqual([]);
  expect(await receiptsOf(present)).toEqual(['b1 1']);
});

it('who has had the data of a patient is counted by actor, for 30 days, with this time', async () => {
  await store(receipt(1, 90, asha));
  await holdPatient(core, { id: 'kiran' }, p1);
  await database.rows(
    `insert into public.access_log (at, actor, action, subjects, filter)
     select now() - days * interval '1 day', 'old', 'reveal', array[receiver.hash_of('p:platform:' || patient)], '{}'
     from (values (31, 'P1'), (1, 'P2')) v(days, patient)`,
  );
  await read();
  const { looks, isHeld } = await read();
  expect(looks).toEqual([
    { actor: 'priya', actor_name: 'Priya', times: 2, last: expect.any(Date) },
    { actor: 'kiran', actor_name: null, times: 1, last: expect.any(Date) },
  ]);
  expect(isHeld).toBe(true);
});

it('nothing is left of an erased patient, and nothing is shown without an entry', async () => {
  await store(receipt(1, 90, asha), receipt(2, 80, { ...asha, patient_oid: 'P2' }));
  await erasePatient(core, actor, p1);
  await mergeAll(core);
  expect(await read()).toMatchObject({ names: [], phones: [], callbacks: [] });
  expect((await entries()).at(-1)).toEqual({ action: 'search', rows: 0, patients: 1 });
  await database.rows('alter table public.access_log rename to gone');
  await expect(read(['p:platform:P2'])).rejects.toThrow('could not be written');
});
