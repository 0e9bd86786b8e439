/** What a documented field contains. */
export type Kind =
  | 'text'
  | 'number id'
  // When something was done to the thing: it may say nothing.
  | 'time'
  | 'other time'
  | 'amount'
  | 'whole'
  | 'json'
  | 'untyped'
  | 'name'
  | 'admission';

/** A family of events as the platform documents it: written apart from src/families, which is tested with it. */
export interface Documented {
  family: string;
  table: string;
  /** The table of the versions that are not the newest. */
  versions?: string;
  /** The field that identifies a thing; undefined: each delivery is one. */
  key?: string;
  orderedBy?: string;
  /** The time of its creation; without one, its first event counts. */
  createdAt?: string;
  /** The fields that one empties which comes without them. */
  facts?: Record<string, string[]>;
  deletedBy?: string;
  fields: Record<string, Kind>;
  /** In the order of the lifecycle, each with its path. */
  events: Record<string, string>;
}

const of = (kind: Kind, names: string) => Object.fromEntries(names.split(' ').map((name) => [name, kind]));
const at = (path: string, ...events: string[]) =>
  Object.fromEntries(events.map((event) => [event, `/registered_url_for_${path}`]));

export const documented: Documented[] = [
  {
    family: 'receipt',
    table: 'receipts',
    versions: 'receipt_versions',
    key: 'receipt_id',
    orderedBy: 'updated_at',
    createdAt: 'created_at',
    deletedBy: 'receipt.deleted',
    facts: { additional_discount_amount: ['additional_discount_type', 'additional_discount_value'] },
    fields: {
      ...of('number id', 'receipt_id'),
      ...of(
        'text',
        'aid doctor_oid clinic_id patient_oid receipt_url receipt_status additional_discount_type',
      ),
      ...of('text', 'name mobile remarks ref_trx_id payment_id payment_link actor'),
      ...of('time', 'created_at updated_at'),
      ...of('untyped', 'receipt_number flavour'),
      ...of('amount', 'receipt_amount additional_discount_value additional_discount_amount net_amount'),
      ...of('amount', 'sku_discount_amount amount_due amount_paid'),
      ...of('whole', 'archive'),
    },
    events: at('receipt_events', 'receipt.created', 'receipt.updated', 'receipt.deleted'),
  },
  {
    family: 'consent_form',
    table: 'consent_forms',
    key: 'id',
    fields: of('text', 'docid id owner patientid sendurlpdf url type'),
    events: at('consent_form', 'mcert.created', 'mcert.updated'),
  },
  {
    family: 'review_request',
    table: 'review_requests',
    fields: of('text', 'doctor_id google_review_link patient_id appointment_id clinic_id'),
    events: {
      ...at('google_review_events', 'google_review.request'),
      ...at('google_review_manual_events', 'google_review.request_manual'),
    },
  },
  {
    family: 'appointment',
    table: 'appointments',
    versions: 'appointment_versions',
    key: 'appointment_id',
    orderedBy: 'modified_at',
    createdAt: 'created_at',
    fields: {
      ...of('text', 'appointment_id partner_appointment_id doctor_id partner_doctor_id patient_id'),
      ...of('text', 'partner_patient_id clinic_id partner_clinic_id status action'),
      ...of('time', 'created_at modified_at'),
      ...of('json', 'custom_attributes partner_meta sa_ids workflow_data prev_aids next_aid'),
    },
    events: {
      ...at('add_appointment_events', 'appointment.created'),
      ...at('update_appointment_events', 'appointment.updated'),
      ...at('status_change_events', 'appointment.statuschange'),
      ...at('assessment_taken_events', 'appointment.assessments.taken'),
    },
  },
  {
    family: 'prescription',
    table: 'prescriptions',
    key: 'prescription_id',
    orderedBy: 'modified_at',
    fields: {
      ...of('text', 'prescription_id doctor_id partner_doctor_id patient_id partner_patient_id clinic_id'),
      ...of(
        'text',
        'partner_clinic_id partner_appointment_id prescription_url prescription_url_print action',
      ),
      ...of('untyped', 'current_version previous_version'),
      ...of('time', 'created_at modified_at'),
      ...of('json', 'partner_meta'),
    },
    events: at('prescription_events', 'prescription.created', 'prescription.updated'),
  },
  {
    family: 'payment_request',
    table: 'payment_requests',
    fields: { ...of('text', 'appointment_id doctor_id patient_id url'), ...of('amount', 'net_amount') },
    events: at('receipt_payment_requested_events', 'receipt_payment.requested'),
  },
  {
    family: 'practice_change',
    table: 'practice_changes',
    fields: {
      ...of('text', 'doctor_id partner_doctor_id clinic_id partner_clinic_id'),
      ...of('time', 'created_at modified_at'),
      ...of('json', 'partner_meta'),
    },
    events: at(
      'doctor_events',
      'schedule.start_practice',
      'schedule.stop_practice',
      'schedule.available_for_consultation',
    ),
  },
  {
    family: 'admission',
    table: 'admissions',
    key: 'id',
    orderedBy: 'updated_at',
    fields: {
      ...of('text', 'id ipid pid bid docid facilityid stage status'),
      ...of('time', 'admission_date created_at updated_at'),
      ...of('amount', 'totalbilled totalpaid'),
      ...of('json', 'attendee bed category department doc duration facility insurance medico_legal_case'),
      ...of('json', 'patient procedures rateplan refer'),
    },
    events: at('ipd_admissions_events', 'ipd_admissions.created', 'ipd_admissions.updated'),
  },
  {
    family: 'admission_event',
    table: 'admission_events',
    key: 'id',
    fields: {
      ...of('text', 'id kind clearance_type'),
      ...of('admission', 'admission_id'),
      ...of('time', 'at'),
      ...of('json', 'by'),
      ...of('untyped', 'to'),
    },
    events: at(
      'ipd_admissions_events_events',
      'ipd_admissions_events.created',
      'ipd_admissions_events.updated',
    ),
  },
  {
    family: 'admission_clearance',
    table: 'admission_clearances',
    key: 'transaction_id',
    orderedBy: 'updated_at',
    facts: { status: ['completed_at', 'completed_by'] },
    fields: {
      ...of('text', 'status type'),
      ...of('admission', 'transaction_id admission_id'),
      ...of('time', 'completed_at updated_at'),
      ...of('json', 'completed_by'),
    },
    events: at(
      'ipd_admissions_clearances_events',
      'ipd_admissions_clearances.created',
      'ipd_admissions_clearances.updated',
    ),
  },
  {
    family: 'admission_estimate',
    table: 'admission_estimates',
    key: 'id',
    orderedBy: 'updated_at',
    fields: {
      ...of('text', 'id name service_id remarks'),
      ...of('admission', 'admission_id'),
      ...of('amount', 'quantity rate'),
      ...of('json', 'discount added_by'),
      ...of('time', 'created_at updated_at'),
      ...of('other time', 'date'),
    },
    events: at(
      'ipd_admissions_estimates_events',
      'ipd_admissions_estimates.created',
      'ipd_admissions_estimates.updated',
    ),
  },
  {
    family: 'notice',
    table: 'notices',
    fields: {
      ...of('text', 'appointment_id doctor_id patient_id clinic_id prescription_id prescription_url'),
      ...of('text', 'doctor_name actor_oid booking_link due_date vaccines'),
      ...of('name', 'doc_name patient_name'),
      ...of('json', 'video_connect'),
    },
    events: {
      ...at('appointment_tele_dr_joined_webhook_events', 'appointment.tele.dr_joined'),
      ...at('appointment_reminder_instant_webhook_events', 'appointment.reminder_instant'),
      ...at('appointment_followup_reminder_instant_webhook_events', 'appointment.followup_reminder_instant'),
      ...at('vaccination_reminder_webhook_events', 'vaccination.reminder'),
      ...at('prescription_communication_events', 'prescription.communication'),
    },
  },
  {
    family: 'health_account',
    table: 'health_accounts',
    key: 'abha_address',
    fields: of('text', 'abha_address abha_number oid partner_patient_id hip_id hip_code req_id'),
    events: at('health_account_events', 'abha.created', 'abha.hip_profile_share'),
  },
  {
    family: 'care_context',
    table: 'care_contexts',
    key: 'care_context_id',
    facts: { status: ['error'] },
    fields: {
      ...of('text', 'care_context_id abha_address oid partner_patient_id hip_id status'),
      ...of('untyped', 'error retry_count'),
    },
    events: at('care_context_events', 'abha.link_care_context'),
  },
  {
    family: 'booking',
    table: 'bookings',
    key: 'order_id',
    fields: { ...of('text', 'order_id state'), ...of('json', 'slot doctor billing patient') },
    events: at('booking_events', 'booking.init', 'booking.confirm', 'booking.status', 'booking.cancel'),
  },
];
