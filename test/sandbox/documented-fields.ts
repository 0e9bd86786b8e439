type Type = 'text' | 'time' | 'number' | 'object' | 'list';

export interface DocumentedField {
  readonly name: string;
  readonly type: Type;
  /** May be missing. */
  readonly optional: boolean;
}

const appointmentIds = 'text appointment_id doctor_id patient_id clinic_id';
const appointment = `${appointmentIds} partner_appointment_id partner_doctor_id partner_patient_id partner_clinic_id status action
  | time created_at modified_at | object custom_attributes? partner_meta | list sa_ids`;
const prescription = `text prescription_id doctor_id partner_doctor_id? patient_id partner_patient_id? clinic_id partner_clinic_id?
  partner_appointment_id? current_version? previous_version? prescription_url? prescription_url_print? action
  | time created_at modified_at | object partner_meta?`;
const consentForm = 'text docid id owner patientid sendurlpdf url type';
const reviewRequest = 'text doctor_id google_review_link patient_id appointment_id? clinic_id?';
const practiceChange = `text doctor_id partner_doctor_id clinic_id? partner_clinic_id?
  | time created_at modified_at | object partner_meta?`;
const receipt = `number receipt_id receipt_amount additional_discount_value additional_discount_amount net_amount
  sku_discount_amount amount_due archive
  | text aid doctor_oid clinic_id patient_oid receipt_url receipt_status additional_discount_type name mobile remarks
  ref_trx_id actor | time created_at updated_at`;
const admission = `text id ipid pid bid docid facilityid stage status category? | time admission_date created_at updated_at
  | object attendee? bed department? doc? duration? facility? insurance? medico_legal_case? patient? rateplan? refer?
  | list procedures? | number totalbilled totalpaid`;
const admissionEvent = 'text id kind clearance_type? to? | time at? | object by?';
const clearance = 'text status type';
const estimate = `text id name service_id remarks? | number quantity? rate? | object discount? added_by?
  | time date? created_at? updated_at?`;

const account = 'text abha_address abha_number hip_id oid partner_patient_id';
const booking = 'text order_id state | object slot doctor billing patient';

const documented: Record<string, string> = {
  'receipt.created': receipt,
  'receipt.updated': receipt,
  'receipt.deleted': receipt,
  'mcert.created': consentForm,
  'mcert.updated': consentForm,
  'google_review.request': reviewRequest,
  'google_review.request_manual': reviewRequest,
  'appointment.created': `${appointment} | list prev_aids?`,
  'appointment.updated': appointment,
  'appointment.statuschange': `${appointmentIds} status partner_appointment_id? partner_doctor_id? partner_patient_id?
    partner_clinic_id? next_aid? | time created_at modified_at | object custom_attributes? partner_meta`,
  'appointment.assessments.taken': `${appointment} | object workflow_data?`,
  'appointment.tele.dr_joined': `${appointmentIds} | object video_connect`,
  'appointment.reminder_instant': appointmentIds,
  'appointment.followup_reminder_instant': appointmentIds,
  'vaccination.reminder': 'text doctor_id patient_id patient_name doctor_name booking_link due_date vaccines',
  'prescription.created': prescription.replace('previous_version?', ''),
  'prescription.updated': prescription,
  'prescription.communication': `${appointmentIds} actor_oid? prescription_id prescription_url
    | object doc_name? patient_name?`,
  'schedule.start_practice': practiceChange,
  'schedule.stop_practice': practiceChange,
  'schedule.available_for_consultation': practiceChange,
  'receipt_payment.requested': 'text appointment_id doctor_id patient_id url | number net_amount',
  'ipd_admissions.created': admission,
  'ipd_admissions.updated': admission,
  'ipd_admissions_events.created': admissionEvent,
  'ipd_admissions_events.updated': admissionEvent,
  'ipd_admissions_clearances.created': clearance,
  'ipd_admissions_clearances.updated': `${clearance} | time completed_at? updated_at? | object completed_by?`,
  'ipd_admissions_estimates.created': estimate,
  'ipd_admissions_estimates.updated': estimate.replace('updated_at?', 'updated_at'),
  'abha.created': account,
  'abha.hip_profile_share': `${account} hip_code req_id`,
  'abha.link_care_context': `text abha_address hip_id care_context_id status error? oid partner_patient_id | number retry_count`,
  'booking.init': booking,
  'booking.confirm': booking,
  'booking.status': booking,
  'booking.cancel': booking,
};

/** The events with their fields, as the platform documents them; written apart from the scenarios. */
export const documentedFields: [event: string, fields: DocumentedField[]][] = Object.entries(documented).map(
  ([event, text]) => [event, text.split('|').flatMap(parse)],
);

function parse(group: string): DocumentedField[] {
  const [type, ...names] = group.trim().split(/\s+/);
  return names.map((name) => ({
    name: name.replace('?', ''),
    type: type as Type,
    optional: name.endsWith('?'),
  }));
}

/** The type of a value, where a whole number may be a time. */
export function hasType(value: unknown, type: Type): boolean {
  if (type === 'list') return Array.isArray(value);
  if (type === 'text') return typeof value === 'string';
  if (type === 'time') return Number.isInteger(value);
  if (type === 'number') return typeof value === 'number';
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
