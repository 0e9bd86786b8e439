export type Fields = Record<string, unknown>;

export interface Sample {
  readonly event: string;
  readonly data: Fields;
  readonly event_time?: number;
  readonly transaction_id?: string;
}

/** The envelope of a sample, without its event. */
export const envelope = {
  event_time: 1_700_000_000,
  timestamp: 1_700_000_001,
  client_id: '64a1f0c2e4b0a1b2c3d4e5f6',
  business_id: '64a1f0c2e4b0a1b2c3d4e5f7',
};

/** Section 2.2. */
const receipt = {
  receipt_id: 4711,
  aid: 'api-0b8f7f5e-6b1f-4c3c-9d55-1f0d7f0f8a11',
  doctor_oid: '161467756044203',
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
  patient_oid: '161467756044204',
  created_at: 1_700_000_000_123,
  updated_at: 1_700_000_000_456,
  receipt_number: null,
  receipt_url: 'https://files.invalid/r/4711.pdf',
  receipt_status: 'SUCCESS',
  receipt_amount: 500.1,
  additional_discount_value: 10,
  additional_discount_type: 'AMOUNT',
  additional_discount_amount: 10.05,
  net_amount: 490.05,
  name: 'आशा राव',
  mobile: '+919900000001',
  flavour: null,
  sku_discount_amount: 0,
  amount_due: 90.05,
  archive: 0,
  remarks: '',
  ref_trx_id: '',
  payment_id: 'pay_1',
  payment_link: 'https://pay.invalid/1',
  amount_paid: 400,
  actor: 'doctor',
};

const consentForm = {
  docid: '161467756044203',
  id: 'mc-1',
  owner: '64a1f0c2e4b0a1b2c3d4e5f7',
  patientid: '161467756044204',
  sendurlpdf: 'https://files.invalid/s/1.pdf',
  url: 'https://files.invalid/u/1.pdf',
  type: 'mcert',
};

const reviewRequest = {
  doctor_id: '161467756044203',
  google_review_link: 'https://reviews.invalid/1',
  patient_id: '161467756044204',
  appointment_id: 'd-0b8f7f5e',
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
};

const people = {
  doctor_id: '161467756044203',
  partner_doctor_id: 'doc-1',
  patient_id: '161467756044204',
  partner_patient_id: 'pat-1',
  clinic_id: '64a1f0c2e4b0a1b2c3d4e5f8',
  partner_clinic_id: 'clinic-1',
};
const times = { created_at: 1_700_000_000, modified_at: 1_700_000_060 };
const appointment_id = 'api-0b8f7f5e-6b1f-4c3c-9d55-1f0d7f0f8a11';

const appointment = {
  appointment_id,
  partner_appointment_id: 'apt-1',
  ...people,
  status: 'BK',
  action: 'created',
  ...times,
  custom_attributes: { label: ['new'] },
  partner_meta: {},
  sa_ids: ['sa-1'],
  workflow_data: { 'sa-1': 'result-1' },
  prev_aids: ['api-earlier'],
  next_aid: 'api-later',
};

const admission = {
  id: 'adm-1',
  ipid: 'IP-1',
  pid: '161467756044204',
  bid: '64a1f0c2e4b0a1b2c3d4e5f7',
  docid: '161467756044203',
  facilityid: '64a1f0c2e4b0a1b2c3d4e5f8',
  stage: 'ADMITTED',
  status: 'ACTIVE',
  admission_date: '2026-06-30 07:25:18.779000+00:00',
  totalbilled: 12500.5,
  totalpaid: 5000,
  category: 'general',
  department: { name: 'Surgery' },
  bed: { number: '12', ward: { name: 'A' } },
  doc: { name: 'Dr Rao' },
  facility: { name: 'Main' },
  patient: { name: 'आशा राव', phone: '+919900000001', gender: 'F' },
  attendee: { name: 'Ravi' },
  insurance: { payer: 'none' },
  medico_legal_case: { is_mlc: false },
  procedures: [{ name: 'Appendectomy' }],
  rateplan: { name: 'cash' },
  refer: { by: 'self' },
  duration: { days: 3 },
  created_at: '2026-06-30 07:25:18.779000+00:00',
  updated_at: '2026-06-30 08:25:18.779000+00:00',
};

const account = {
  abha_address: 'asha@abdm',
  hip_id: 'hip-1',
  oid: people.patient_id,
  partner_patient_id: people.partner_patient_id,
};

const staff = { id: 'u-1', name: 'Nurse One' };

/** A callback of each family, with every documented field. What the receiver's tests expect of them is here, too. */
export const samples = {
  receipt: { event: 'receipt.created', data: receipt },
  consent_form: { event: 'mcert.created', data: consentForm },
  review_request: { event: 'google_review.request', data: reviewRequest },
  appointment: { event: 'appointment.created', data: appointment },
  prescription: {
    event: 'prescription.created',
    data: {
      prescription_id: 'rx-1',
      ...people,
      partner_appointment_id: 'apt-1',
      current_version: 'v2',
      previous_version: 'v1',
      prescription_url: 'https://files.invalid/p/1.pdf',
      prescription_url_print: 'https://files.invalid/p/1-print.pdf',
      action: 'created',
      ...times,
      partner_meta: {},
    },
  },
  payment_request: {
    event: 'receipt_payment.requested',
    data: {
      appointment_id,
      doctor_id: people.doctor_id,
      patient_id: people.patient_id,
      net_amount: 490.05,
      url: 'https://pay.invalid/1',
    },
  },
  practice_change: {
    event: 'schedule.start_practice',
    data: {
      doctor_id: people.doctor_id,
      partner_doctor_id: people.partner_doctor_id,
      clinic_id: people.clinic_id,
      partner_clinic_id: people.partner_clinic_id,
      ...times,
      partner_meta: {},
    },
  },
  // After what it tells of.
  admission: { event: 'ipd_admissions.created', data: admission, event_time: 1_782_808_000 },
  admission_event: {
    event: 'ipd_admissions_events.created',
    data: {
      id: 'ev-1',
      kind: 'moved',
      at: 1_700_000_000,
      by: staff,
      clearance_type: 'billing',
      to: 'ward B',
    },
    transaction_id: 'ipd/b/admissions/adm-1/events/ev-1',
  },
  admission_clearance: {
    event: 'ipd_admissions_clearances.created',
    data: {
      type: 'billing',
      status: 'pending',
      completed_at: 1_700_000_000,
      completed_by: staff,
      updated_at: 1_700_000_000,
    },
    transaction_id: 'ipd/b/admissions/adm-1/clearances/billing',
  },
  admission_estimate: {
    event: 'ipd_admissions_estimates.created',
    data: {
      id: 'est-1',
      name: 'Room',
      service_id: 's-1',
      quantity: 3,
      rate: 1500.5,
      discount: { category: 'amount', value: 100 },
      remarks: '',
      date: 1_700_000_000,
      added_by: staff,
      created_at: 1_700_000_000,
      updated_at: 1_700_000_000,
    },
    transaction_id: 'ipd/b/admissions/adm-1/estimates/est-1',
  },
  notice: {
    event: 'prescription.communication',
    data: {
      appointment_id,
      doctor_id: people.doctor_id,
      patient_id: people.patient_id,
      clinic_id: people.clinic_id,
      prescription_id: 'rx-1',
      prescription_url: 'https://files.invalid/p/1.pdf',
      doc_name: { salutation: 'Dr', first_name: 'Asha', last_name: 'Rao' },
      doctor_name: 'Dr Asha Rao',
      patient_name: { first_name: 'Ravi', last_name: 'Kumar' },
      actor_oid: '161467756044203',
      booking_link: 'https://book.invalid/1',
      due_date: '2026-11-30',
      vaccines: 'MMR',
      video_connect: {
        host_link: 'https://meet.invalid/h',
        meet_link: 'https://meet.invalid/m',
        vendor: 'v',
      },
    },
  },
  health_account: {
    event: 'abha.hip_profile_share',
    data: {
      ...account,
      abha_number: '91-1234-5678-9012',
      hip_code: 'counter-1',
      req_id: 'req-1',
    },
  },
  care_context: {
    event: 'abha.link_care_context',
    data: {
      ...account,
      care_context_id: 'cc-1',
      status: 'LINKED',
      error: null,
      retry_count: 0,
    },
  },
  booking: {
    event: 'booking.confirm',
    data: {
      order_id: 'order-1',
      state: 'CONFIRMED',
      slot: { start: '2026-11-30T09:00:00Z' },
      doctor: { name: 'Dr Asha Rao' },
      billing: { name: 'आशा राव', phone: '+919900000001', email: 'a@example.invalid', address: 'Street 1' },
      patient: { id: '161467756044204', dob: '1990-01-01', gender: 'F' },
    },
  },
  other: { event: 'user.data.download', data: {} },
} satisfies Record<string, Sample>;
