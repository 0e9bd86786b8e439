import { consentFormCallback, receiptCallback, reviewRequestCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, seconds } from '../../support/deliveries.ts';

const database = useDatabase();
beforeAll(async () => {
  const receipt = (receipt_id: number, data: object) =>
    receiptCallback({ business_id: 'b1', data: { receipt_id, clinic_id: 'c1', doctor_oid: 'd1', ...data } });
  const created_at = seconds('2024-03-01T10:00:00Z');
  const event_time = created_at;
  await apply(database, [
    receipt(1, { created_at, net_amount: 0.1, amount_due: 0 }),
    receipt(2, { created_at, net_amount: 0.2, amount_due: 0.05 }),
    receipt(3, { created_at, net_amount: 9, amount_due: 9, doctor_oid: 'd2' }),
    { ...receipt(4, { created_at, net_amount: 1000 }), event: 'receipt.deleted' },
    receipt(5, { created_at: created_at + 86_400, net_amount: 4, amount_due: 0 }),
    consentFormCallback({ business_id: 'b1', event_time, data: { id: 'f1', docid: 'd1' } } as never),
    consentFormCallback({
      event: 'mcert.updated',
      business_id: 'b1',
      event_time: event_time + 86_400,
      data: { id: 'f1', docid: 'd1', url: 'https://files.invalid/new.pdf' },
    } as never),
    consentFormCallback({ business_id: 'b1', event_time, data: { id: 'f2', docid: 'd2' } } as never),
    reviewRequestCallback({
      business_id: 'b1',
      event_time,
      data: { doctor_id: 'd1', clinic_id: 'c1', patient_id: 'p1' },
    } as never),
    reviewRequestCallback({
      business_id: 'b1',
      event_time: event_time + 1,
      data: { doctor_id: 'd1', clinic_id: null, patient_id: 'p2', appointment_id: null },
    } as never),
  ]);
});

const counts = (receipts: string, net: string, due: string, forms: string, reviews: string) => ({
  receipts,
  net_amount: net,
  due_amount: due,
  consent_forms: forms,
  review_requests: reviews,
});
const summed = 'receipts, net_amount, due_amount, consent_forms, review_requests';

it('doctors_daily has totals for each doctor and day', async () => {
  expect(
    await database.rows(`select doctor_id, day::text, ${summed} from reporting.doctors_daily order by 2, 1`),
  ).toEqual([
    { doctor_id: 'd1', day: '2024-03-01', ...counts('2', '0.3', '0.05', '0', '2') },
    { doctor_id: 'd2', day: '2024-03-01', ...counts('1', '9', '9', '1', '0') },
    { doctor_id: 'd1', day: '2024-03-02', ...counts('1', '4', '0', '1', '0') },
  ]);
});

it('clinics_daily has totals for each clinic and day; records without a clinic count under null', async () => {
  expect(
    await database.rows(`select clinic_id, day::text, ${summed} from reporting.clinics_daily order by 2, 1`),
  ).toEqual([
    { clinic_id: 'c1', day: '2024-03-01', ...counts('3', '9.3', '9.05', '0', '1') },
    { clinic_id: null, day: '2024-03-01', ...counts('0', '0', '0', '1', '1') },
    { clinic_id: 'c1', day: '2024-03-02', ...counts('1', '4', '0', '0', '0') },
    { clinic_id: null, day: '2024-03-02', ...counts('0', '0', '0', '1', '0') },
  ]);
});

it('consent_forms shows the newest version of each form, on the day of its last event', async () => {
  expect(
    await database.rows(
      'select form_id, day::text, doctor_id, pdf_url, last_event from reporting.consent_forms order by 1',
    ),
  ).toEqual([
    {
      form_id: 'f1',
      day: '2024-03-02',
      doctor_id: 'd1',
      pdf_url: 'https://files.invalid/new.pdf',
      last_event: 'mcert.updated',
    },
    {
      form_id: 'f2',
      day: '2024-03-01',
      doctor_id: 'd2',
      pdf_url: 'https://files.invalid/u/1.pdf',
      last_event: 'mcert.created',
    },
  ]);
});

it('review_requests shows each request with its day', async () => {
  expect(
    await database.rows(
      'select patient_id, day::text, clinic_id, appointment_id from reporting.review_requests order by 1',
    ),
  ).toEqual([
    { patient_id: 'p1', day: '2024-03-01', clinic_id: 'c1', appointment_id: 'd-0b8f7f5e' },
    { patient_id: 'p2', day: '2024-03-01', clinic_id: null, appointment_id: null },
  ]);
});
