import { amount, notPersonal, text, time } from '../../src/families/field.ts';
import { defineFamily, type Family, families, isPublicField } from '../../src/families/index.ts';
import { redactEnvelope, redactRow } from '../../src/privacy/redact.ts';

const numbersAndTimesOf = ({ fields }: Family) =>
  Object.entries(fields)
    .filter(([, { json, column }]) => json === 'numeric' || column === time.column)
    .map(([name]) => name);

const ids = ['doctor_id', 'clinic_id'];
const partnerIds = ['partner_doctor_id', 'partner_clinic_id'];

it.each([
  [
    'receipt',
    [
      'aid',
      'doctor_oid',
      'clinic_id',
      'receipt_number',
      'receipt_status',
      'additional_discount_type',
      'actor',
    ],
  ],
  ['consent_form', ['id', 'docid', 'owner', 'type']],
  ['review_request', [...ids, 'appointment_id']],
  ['appointment', [...ids, ...partnerIds, 'appointment_id', 'status', 'action']],
  ['prescription', [...ids, ...partnerIds, 'prescription_id', 'action']],
  ['payment_request', ['doctor_id', 'appointment_id']],
  ['practice_change', [...ids, ...partnerIds]],
  ['admission', ['id', 'bid', 'docid', 'facilityid', 'stage', 'status']],
  ['admission_event', ['id', 'admission_id', 'kind', 'clearance_type']],
  ['admission_clearance', ['transaction_id', 'admission_id', 'type', 'status']],
  ['admission_estimate', ['id', 'admission_id', 'service_id']],
  ['notice', [...ids, 'appointment_id', 'prescription_id', 'actor_oid']],
  ['health_account', ['hip_id', 'hip_code', 'req_id']],
  ['care_context', ['care_context_id', 'hip_id', 'status', 'retry_count']],
  ['booking', ['order_id', 'state']],
  ['other', []],
])('of a %s the console shows every number and time, and of its texts only %j', (name, texts) => {
  const family = families.find((one) => one.name === name)!;
  const shown = Object.keys(family.fields).filter((field) => isPublicField([family], field));
  expect(shown.sort()).toEqual([...numbersAndTimesOf(family), ...texts].sort());
});

describe('a field without a mark', () => {
  const made = defineFamily({
    name: 'made',
    events: ['made.created'],
    path: { variable: 'MADE_PATH', default: ['/made'] },
    table: 'made',
    fields: { plain: text, marked: notPersonal(text), price: amount },
  });
  const values = { plain: 'CANARY', marked: 'shown', price: 5, unheard_of: 7 };
  const redacted = { plain: '•••', marked: 'shown', price: 5 };

  it('is redacted, and of fields that no family documents there is only the number', () => {
    const envelope = { event: 'made.created', timestamp: 1 };
    const received = { ...envelope, 'CANARY 1': 'CANARY', 'CANARY 2': null, data: values };
    expect(redactEnvelope(received, made)).toEqual({
      ...envelope,
      '•••': '2 undocumented fields',
      data: { ...redacted, '•••': '1 undocumented field' },
    });
    expect(redactEnvelope({ ...envelope, data: { plain: 'x' } }, made)).toEqual({
      ...envelope,
      data: { plain: '•••' },
    });
    expect(redactRow({ ...values, client_id: 'c', extra: { a: 1 } }, made)).toEqual({
      ...redacted,
      unheard_of: '•••',
      client_id: 'c',
      extra: '•••',
    });
  });

  it('is redacted everywhere where the family is unknown', () => {
    expect(redactEnvelope({ event: 'x', data: values }, undefined)).toEqual({
      event: 'x',
      data: { '•••': '4 undocumented fields' },
    });
  });

  it('is redacted in reports though another family marks one of the same name', () => {
    const other = { ...made, fields: { ...made.fields, plain: notPersonal(text) } };
    expect(isPublicField([other], 'plain')).toBe(true);
    expect(isPublicField([made, other], 'plain')).toBe(false);
  });
});
