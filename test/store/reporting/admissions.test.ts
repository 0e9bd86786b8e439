import { samples } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear } from '../../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const now = () => Math.floor(Date.now() / 1000);

const admission = (id: string, data: object = {}, business_id = 'b1') =>
  samples.admission({ business_id, event_time: now(), data: { id, ...data } });
const partOf =
  (family: 'admission_clearance' | 'admission_estimate' | 'admission_event') =>
  (admissionId: string, part: string, data: object = {}, business_id = 'b1') =>
    samples[family]({
      business_id,
      event_time: now(),
      transaction_id: `ipd/${business_id}/admissions/${admissionId}/x/${part}`,
      data,
    });
const clearance = partOf('admission_clearance');
const estimate = partOf('admission_estimate');
const event = partOf('admission_event');

it('open_admissions has the open clearances, the estimate and the amounts of each admission under way', async () => {
  await apply(database, [
    admission('adm1', {
      admission_date: now() - 3 * 86_400,
      totalbilled: 100.5,
      totalpaid: 0.25,
      department: { name: 'Surgery' },
    }),
    admission('adm2', { admission_date: now(), totalbilled: null, totalpaid: null, department: 'Surgery' }),
    admission('adm3', { stage: 'DISCHARGED' }),
    admission('adm1', { totalbilled: 9, stage: 'closed' }, 'b2'),
    clearance('adm1', 'pharmacy', { type: 'pharmacy', completed_at: null }),
    clearance('adm1', 'billing', { type: 'billing', completed_at: null, status: 'PENDING' }),
    clearance('adm1', 'nursing', { type: 'nursing', completed_at: now() }),
    clearance('adm1', 'lab', { type: 'lab', completed_at: null, status: 'APPROVED' }),
    clearance('adm1', 'bed', { type: 'bed', completed_at: null }, 'b2'),
    estimate('adm1', '1', { id: 'e1', quantity: 3, rate: 0.1 }),
    estimate('adm1', '2', { id: 'e2', quantity: null, rate: 10 }),
    estimate('adm1', '3', { id: 'e3', rate: null }),
    estimate('adm1', '4', { id: 'e4', rate: 99 }, 'b2'),
  ]);
  expect(
    await database.rows(
      `select admission_id, days_since_admission, department, open_clearances, open_clearance_types, estimated_amount,
              billed_amount, paid_amount, due_amount
       from reporting.open_admissions order by 1`,
    ),
  ).toEqual([
    {
      admission_id: 'adm1',
      days_since_admission: 3,
      department: 'Surgery',
      open_clearances: '2',
      open_clearance_types: 'billing, pharmacy',
      estimated_amount: '10.3',
      billed_amount: '100.5',
      paid_amount: '0.25',
      due_amount: '100.25',
    },
    {
      admission_id: 'adm2',
      days_since_admission: 0,
      department: 'Surgery',
      open_clearances: '0',
      open_clearance_types: null,
      estimated_amount: null,
      billed_amount: null,
      paid_amount: null,
      due_amount: null,
    },
  ]);
});

it.each([
  ['DISCHARGED', null, true],
  [null, 'Canceled', true],
  ['patient cancelled', 'ACTIVE', true],
  ['ADMITTED', 'file_closed', true],
  ['admitted', 'completed', true],
  ['discharge planned', 'ACTIVE', false],
  ['ADMITTED', '', false],
  [null, null, false],
])('whether an admission of stage %j and status %j has ended: %s', async (stage, status, has_ended) => {
  await apply(database, [admission('adm1', { stage, status })]);
  expect(await database.rows('select has_ended from reporting.admissions')).toEqual([{ has_ended }]);
});

it.each([
  ['PENDING', null, true],
  [null, null, true],
  ['Cleared', null, false],
  ['approved by billing', null, false],
  ['not yet', 1_700_000_000, false],
  ['COMPLETED', null, false],
  ['incompleted', null, true],
  ['uncleared', null, true],
  ['disapproved', null, true],
])(
  'whether a clearance of status %j, completed at %j, is open: %s',
  async (status, completed_at, is_open) => {
    await apply(database, [clearance('adm1', 'x', { status, completed_at })]);
    expect(await database.rows('select is_open from reporting.admission_clearances')).toEqual([{ is_open }]);
  },
);

it('events, clearances and estimates have the patient of their admission; without it, none', async () => {
  const parts = [clearance('adm1', 'x'), estimate('adm1', 'x'), event('adm1', 'x')];
  await apply(database, parts);
  const read = async () =>
    (
      await database.rows(
        `select admission_id, patient_id from reporting.admission_clearances
         union all select admission_id, patient_id from reporting.admission_estimates
         union all select admission_id, patient_id from reporting.admission_events`,
      )
    ).map(({ admission_id, patient_id }) => `${admission_id} ${patient_id}`);
  expect(await read()).toEqual(Array(3).fill('adm1 null'));
  await apply(database, [admission('adm1', { pid: 'p1' }), admission('adm1', { pid: 'p2' }, 'b2')]);
  expect(await read()).toEqual(Array(3).fill('adm1 p1'));
});
