import { readFileSync } from 'node:fs';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { apply } from './apply.ts';

const database = useReceiverDatabase();
const business_id = '111111111111110';
// At noon in India.
const on = (day: string) => Date.parse(`${day}T06:30:00Z`) / 1000;
const of = (event: string, day: string, data: object) => ({
  ...{ event, event_time: on(day), business_id, data },
});
const issued = (
  receipt_id: number,
  day: string,
  clinic_id: string,
  doctor_oid: string,
  patient_oid: string,
  net_amount: number,
  amount_paid: number,
) =>
  of('receipt.created', day, {
    receipt_id,
    created_at: on(day),
    clinic_id,
    doctor_oid,
    patient_oid,
    net_amount,
    amount_paid,
  });
const changed = (receipt_id: number, day: string, data: object, event = 'updated') =>
  of(`receipt.${event}`, day, { receipt_id, ...data });

const recently = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);

const history = [
  issued(1, '2026-01-10', 'c1', 'd1', 'p1', 500, 500),
  issued(2, '2026-01-20', 'c1', 'd2', 'p2', 800, 300),
  changed(2, '2026-02-03', { amount_paid: 800 }),
  issued(3, '2026-02-02', 'c1', 'd1', 'p1', 400, 400),
  issued(4, '2026-02-02', 'c2', 'd2', 'p3', 1000, 600),
  changed(4, '2026-02-05', { amount_paid: 550 }),
  issued(5, '2026-02-02', 'c2', 'd2', 'p3', 1000, 0),
  issued(6, '2026-02-10', 'c1', 'd1', 'p4', 250, 250),
  changed(6, '2026-02-12', {}, 'deleted'),
  issued(7, '2026-02-11', 'c1', 'd1', 'p1', 70, 70),
  // The month was closed before.
  changed(7, '2026-03-03', {}, 'deleted'),
  issued(8, '2026-02-15', 'c1', 'd1', 'p5', 9_999, 9_999),
  changed(8, '2026-02-15', { receipt_status: 'FAILED' }),
  issued(9, recently, 'c1', 'd1', 'p1', 90, 0),
  { ...issued(10, '2026-02-02', 'c1', 'd1', 'p1', 7, 7), business_id: 'other' },
  ...['NS', 'CM', 'RES', 'BK'].map((status, n) =>
    of('appointment.created', '2026-02-04', {
      appointment_id: `a${n}`,
      created_at: on('2026-02-04'),
      doctor_id: 'd1',
      status,
    }),
  ),
  ...['mcert', 'consent', 'mcert'].map((type, n) =>
    of('mcert.created', '2026-02-04', { id: `f${n}`, docid: 'd1', type }),
  ),
  ...['p1', 'p3'].map((patient_id) =>
    of('google_review.request', '2026-02-04', { doctor_id: 'd1', patient_id }),
  ),
];

/** A line for each row of the results, by the number of the question. */
const results: Record<string, string[]> = {
  1: ['0 to 30 days|1|90', 'over 90 days|2|1450'],
  2: [
    '2026-02-02|c1|1|400|400|0',
    '2026-02-02|c2|2|2000|550|1450',
    '2026-02-10|c1|0|0|0|0',
    '2026-02-11|c1|0|0|0|0',
  ],
  3: ['2026-02-02|1000|', '2026-02-03|500|', '2026-02-05|-50|50', '2026-02-10|250|', '2026-02-11|70|'],
  4: ['2026-02-05|4|c2|50'],
  5: ['d1|3|1|33.3'],
  6: ['consent|1', 'mcert|2'],
  7: ['d1|2'],
  8: ['d2|1050', 'd1|720'],
  9: ['d1|500|400', 'd2|800|2000'],
  10: ['1|1'],
  11: ['2026-02-12|1|250|250'],
  12: ['2470|2400'],
  13: ['2026-02-02|5|4|p3|1000'],
};

const page = readFileSync('docs/reporting.md', 'utf8');
const questions = Array.from(
  page.matchAll(/^\*\*(\d+)\. .*?\*\* `(.*?)`[^`]*(?:`\w+`[^`]*)*```sql\n(.*?)```/gms),
  ([, number, columns, query]) => ({ number: number!, columns: columns!, query: query! }),
);

const asText = { getTypeParser: () => String };

beforeAll(async () => {
  await apply(database, history);
  await database.rows('update receiver.inbox set stored_at = event_time');
});

it('docs/reporting.md has the questions of an accountant', () => {
  expect(questions.map(({ number }) => number)).toEqual(Object.keys(results));
});

it.each(questions)(
  'the answer to question $number of docs/reporting.md is right',
  async ({ number, columns, query }) => {
    const { rows, fields } = await database.pool.query({ text: query, rowMode: 'array', types: asText });
    expect(fields.map(({ name }) => name).join(', ')).toBe(columns);
    const lines = rows.map((row) => (row as unknown[]).map((value) => value ?? '').join('|'));
    expect(lines).toEqual(results[number]);
  },
);
