import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { deliveryOf } from '../support/intake.ts';

const subjectsOf = (event: string, data: object, envelope: object = {}) =>
  deliveryOf({ event, event_time: 1_763_000_000, business_id: 'b', ...envelope, data }).subjects.toSorted();

it('a callback names its patient by each kind of id, normalised, and the records that it refers to', () => {
  expect(subjectsOf('receipt.created', { receipt_id: 1, patient_oid: 17, aid: 'api-1' })).toEqual([
    'p:platform:17',
    'r:appointment:b:api-1',
  ]);
  expect(
    subjectsOf('appointment.created', { appointment_id: 'a', patient_id: ' 17 ', partner_patient_id: 'x' }),
  ).toEqual(['p:partner:b:x', 'p:platform:17']);
  expect(
    subjectsOf('abha.created', { abha_address: 'Asha@abdm', abha_number: '91-1111-2222-3333', oid: '17' }),
  ).toEqual(['p:abha:91111122223333', 'p:abha:asha@abdm', 'p:platform:17']);
});

it('the id of a doctor, of staff or of a place names no patient', () => {
  const data = {
    id: 'a-1',
    pid: 'A',
    doc: { oid: 'D', more: [{ oid: 'D' }], patient: { oid: 'B' } },
    by: { oid: 'S' },
    doctors: [{ oid: 'D' }],
    facility: { oid: 'F' },
    attendee: { oid: 'C' },
  };
  expect(subjectsOf('ipd_admissions.updated', data)).toEqual([
    'p:platform:A',
    'p:platform:B',
    'p:platform:C',
  ]);
});

it.each([
  ['91 1111 2222 3333', '91-1111-2222-3333', '91\u00a01111\u202f2222 3333', '91\u20111111\u221222223333'],
  ['Asha@ABDM', ' asha@abdm', '\u200basha@abdm', 'ａｓｈａ@abdm'],
  ['９１1111２２２２3333', '91111122223333'],
])('an ABHA number or address is one subject, however it is typed: %s', (...typed) => {
  const subjects = typed.map((abha_number) => subjectsOf('x.unknown', { abha_number }));
  expect(new Set(subjects.flat()).size).toBe(1);
});

it('a patient is found however nested, also in unknown events', () => {
  expect(
    subjectsOf('x.unknown', {
      list: [{ deep: { Patient: { id: 'p-1' } } }, { type: 'ABHA_NUMBER', value: '91-1' }],
      patients: ['p-2', { id: 'p-3' }],
      'partner-patient-id': 5,
    }),
  ).toEqual(['p:abha:911', 'p:partner:b:5', 'p:platform:p-1', 'p:platform:p-2', 'p:platform:p-3']);
});

it.each([[['A']], [{ $oid: 'A' }], [{ id: 'A' }], [[{ id: 'A' }]]])(
  'an id of a patient that is a list or an object names the patient: %j',
  (id) => {
    const named = [
      subjectsOf('receipt.created', { receipt_id: 1, patient_oid: id }),
      subjectsOf('google_review.request', { patient_id: id }),
      subjectsOf('x.unknown', { patient_oid: id }),
    ];
    expect(named).toEqual([['p:platform:A'], ['p:platform:A'], ['p:platform:A']]);
    expect(subjectsOf('x.unknown', { clinic_id: id, doctor: { oid: id } })).toEqual([]);
  },
);

it('what is no id names no patient', () => {
  expect(
    subjectsOf('x.unknown', { patient_id: '', pid: null, oid: {}, patient: 'x'.repeat(201), id: 7 }),
  ).toEqual([]);
});

it('a part of an admission refers to it', () => {
  const transaction_id = 'ipd/b/admissions/a-1/events/e-1';
  expect(subjectsOf('ipd_admissions_events.created', { id: 'e-1', kind: 'x' }, { transaction_id })).toEqual([
    'r:admission:b:a-1',
  ]);
});

it('nothing that is kept between callbacks grows with the length of keys, which senders choose', () => {
  setFlagsFromString('--expose-gc');
  const usedMb = () => {
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  const read = (n: number) => {
    const short = Object.fromEntries([...Array(n % 90).keys()].map((index) => [`k${index}`, index]));
    subjectsOf('x.unknown', { ...short, ['k'.repeat(250_000) + n]: 1 });
  };
  read(0);
  const before = usedMb();
  for (let n = 0; n < 200; n += 1) read(n);
  expect(usedMb() - before).toBeLessThan(8);
});
