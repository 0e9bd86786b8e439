import { titled } from '../../common/words.ts';

/** Every column of the views of `reporting`, and of the lists of the console, by the kind of what it holds. */
const columns = {
  // Ids that have a name, see receiver.aliases.
  business: 'business_id owner',
  clinic: 'clinic_id facility_id',
  doctor: 'doctor_id',
  // Ids of records, callbacks and places.
  id: `id receipt_id first_receipt_id appointment_id aid admission_id prescription_id form_id booking_id care_context_id
    clearance_id estimate_id event_id delivery_id example_delivery quarantine_id client_id service_id actor_id hip_id hip_code req_id
    partner_clinic_id partner_doctor_id archive`,
  // Ids that may say whose they are.
  reference: `patient_id partner_patient_id partner_appointment_id payment_id transaction_reference abha_address abha_number
    inpatient_number flavour current_version previous_version`,
  number: 'receipt_number',
  day: 'day oldest_day newest_day',
  moment: `issued_at updated_at deleted_at booked_at started_at starts_at completed_at modified_at created_at prescribed_at requested_at paid_at
    admitted_at happened_at estimated_at event_time received_at stored_at last_received_at replayed_at first_seen last_seen from_at
    until_at hour at`,
  interval: 'present_gap',
  // In rupees.
  amount: `gross_amount item_discount_amount additional_discount_amount discount_amount net_amount paid_amount due_amount
    deleted_net_amount collected_amount refunded_amount requested_amount billed_amount estimated_amount before_amount amount`,
  count: `receipts deleted_receipts consent_forms review_requests payment_requests appointments booked ongoing completed
    completed_without_prescription cancelled cancelled_by_patient cancelled_by_doctor cancelled_by_staff no_show aborted rescheduled
    other open_clearances received applied failed waiting quarantined duplicates reconciled times_received count minutes`,
  // Numbers whose sum says nothing.
  figure: `days_outstanding days_since_admission copy_number version additional_discount_value quantity rate retry_count
    expected_callbacks completion_average_hours completion_median_hours times rows`,
  // Parts of 1.
  share: 'completed_share cancelled_share no_show_share rescheduled_share without_prescription_share',
  flag: 'has_ended is_open out_of_the_ordinary',
  // Short texts of the platform, or of the receiver.
  code: `month age kind type patients change stage family reason source action actor additional_discount_type clearance_type
    open_clearance_types`,
  // Texts that are shown as they are.
  verbatim: 'record event last_event errors who messages certificate',
  state: 'status state',
  text: `remarks department value field error link_error due_date vaccines new_value alias doctor_name`,
  person: 'name patient_name billing_name',
  phone: 'mobile billing_phone',
  link: 'pdf_url print_pdf_url send_pdf_url payment_link booking_link google_review_link link',
  json: `patient_ids custom_attributes workflow_data partner_meta added_by attendee bed billing category completed_by data details discount doctor
    duration facility insurance made_by medico_legal_case patient procedures rateplan refer slot`,
};

export type ColumnKind = keyof typeof columns;

/** Kinds that may identify a patient: roles without personal data read the columns of the others alone. */
const personalKinds = new Set<ColumnKind>(['reference', 'text', 'person', 'phone', 'link', 'json']);
const summedKinds = new Set<ColumnKind>(['amount', 'count']);

const labels: Record<string, string> = {
  aid: 'Appointment',
  at: 'When',
  copy_number: 'Entry',
  days_outstanding: 'Days',
  days_since_admission: 'Days',
  errors: 'What is wrong',
  facility_id: 'Clinic',
  gross_amount: 'Amount',
  family: 'Kind of record',
  inpatient_number: 'Number',
  last_received_at: 'Received',
  mobile: 'Phone',
  name: 'Patient',
  net_amount: 'Billed',
  owner: 'Business',
  patient_id: 'Patient id',
  patients: 'Patient ids',
  pdf_url: 'PDF',
  receipt_number: 'Receipt',
  refunded_amount: 'Of it went back',
  started_at: 'Begun',
  starts_at: 'Time',
};

export interface ViewColumn {
  name: string;
  label: string;
  kind: ColumnKind;
  personal: boolean;
  summed: boolean;
}

const columnOf = (name: string, kind: ColumnKind): ViewColumn => {
  const label = labels[name] ?? titled(name.replace(/_(amount|at|id)$/, ''));
  return { name, label, kind, personal: personalKinds.has(kind), summed: summedKinds.has(kind) };
};

export const viewColumns: ReadonlyMap<string, ViewColumn> = new Map(
  (Object.keys(columns) as ColumnKind[]).flatMap((kind) =>
    columns[kind].split(/\s+/).map((name): [string, ViewColumn] => [name, columnOf(name, kind)]),
  ),
);

/** The facts about a column of a view; one that is not listed is a text, and personal. */
export const viewColumn = (name: string): ViewColumn => viewColumns.get(name) ?? columnOf(name, 'text');

export const publicViewColumns: readonly string[] = [...viewColumns.values()]
  .filter(({ personal }) => !personal)
  .map(({ name }) => name);
