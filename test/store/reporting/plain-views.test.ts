import { families } from '../../../src/families/index.ts';
import { samples } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply } from '../../support/deliveries.ts';

const database = useDatabase();
beforeAll(async () => {
  await apply(
    database,
    families.map(({ name }) => samples[name]()),
  );
});

// 1_700_000_000 is 03:43 of the next day in India.
const event = { day: '2023-11-15', event_time: '2023-11-14T22:13:20' };
const people = { doctor_id: '161467756044203', patient_id: '161467756044204' };
const clinic_id = '64a1f0c2e4b0a1b2c3d4e5f8';
const partner = { partner_doctor_id: 'doc-1', partner_clinic_id: 'clinic-1' };
const appointment_id = 'api-0b8f7f5e-6b1f-4c3c-9d55-1f0d7f0f8a11';
const ofAdmission = { admission_id: 'adm-1', patient_id: people.patient_id, ...event };
const staff = { id: 'u-1', name: 'Nurse One' };

it.each([
  ['consent_forms', { form_id: 'mc-1', type: 'mcert' }],
  [
    'appointments',
    {
      appointment_id,
      ...people,
      clinic_id,
      ...partner,
      day: event.day,
      booked_at: event.event_time,
      partner_appointment_id: 'apt-1',
      partner_patient_id: 'pat-1',
      status: 'BK',
      state: 'booked',
      action: 'created',
      modified_at: '2023-11-14T22:14:20',
      workflow_data: { 'sa-1': 'result-1' },
    },
  ],
  [
    'prescriptions',
    {
      prescription_id: 'rx-1',
      ...people,
      clinic_id,
      ...partner,
      ...event,
      prescribed_at: event.event_time,
      current_version: 'v2',
      previous_version: 'v1',
      pdf_url: 'https://files.invalid/p/1.pdf',
      print_pdf_url: 'https://files.invalid/p/1-print.pdf',
    },
  ],
  [
    'payment_requests',
    {
      appointment_id,
      ...people,
      day: event.day,
      requested_at: event.event_time,
      net_amount: 490.05,
      payment_link: 'https://pay.invalid/1',
    },
  ],
  [
    'practice_changes',
    { doctor_id: people.doctor_id, clinic_id, ...partner, ...event, event: 'schedule.start_practice' },
  ],
  [
    'notices',
    {
      event: 'prescription.communication',
      appointment_id,
      ...people,
      clinic_id,
      ...event,
      prescription_id: 'rx-1',
      pdf_url: 'https://files.invalid/p/1.pdf',
      doctor_name: 'Dr Asha Rao',
      patient_name: 'Ravi Kumar',
      actor_id: '161467756044203',
      booking_link: 'https://book.invalid/1',
      due_date: '2026-11-30',
      vaccines: 'MMR',
    },
  ],
  [
    'admissions',
    {
      admission_id: 'adm-1',
      ...people,
      facility_id: clinic_id,
      inpatient_number: 'IP-1',
      has_ended: false,
      day: '2026-06-30',
      admitted_at: '2026-06-30T07:25:18.779',
      stage: 'ADMITTED',
      status: 'ACTIVE',
      billed_amount: 12500.5,
      paid_amount: 5000,
      due_amount: 7500.5,
      department: 'Surgery',
      doctor: { name: 'Dr Rao' },
    },
  ],
  [
    'admission_events',
    {
      event_id: 'ev-1',
      kind: 'moved',
      happened_at: event.event_time,
      clearance_type: 'billing',
      new_value: 'ward B',
      made_by: staff,
      ...ofAdmission,
    },
  ],
  [
    'admission_clearances',
    {
      clearance_id: 'ipd/b/admissions/adm-1/clearances/billing',
      type: 'billing',
      status: 'pending',
      is_open: false,
      completed_at: event.event_time,
      completed_by: staff,
      ...ofAdmission,
    },
  ],
  [
    'admission_estimates',
    {
      estimate_id: 'est-1',
      name: 'Room',
      service_id: 's-1',
      quantity: 3,
      rate: 1500.5,
      estimated_amount: 4501.5,
      discount: { category: 'amount', value: 100 },
      added_by: staff,
      ...ofAdmission,
    },
  ],
])('%s shows the fields of a callback under plain names', async (view, expected) => {
  const [row] = await database.rows(
    `select to_jsonb(v) as columns from reporting.${view} v, set_config('timezone', 'UTC', false)`,
  );
  const columns = Object.entries(row!.columns as object).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.replace(/\+00:00$/, '') : value,
  ]);
  expect(Object.fromEntries(columns)).toMatchObject(expected);
});
