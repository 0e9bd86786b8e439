// Generated from the views of schema reporting: npm run docs.

/** The record of a change, by family: the columns of its view. Times are texts of ISO 8601 in UTC. */
export interface ChangedRecords {
  receipt: {
    business_id: string;
    receipt_id: number;
    day: string | null;
    last_event: string | null;
    deleted_at: string | null;
    receipt_number: string | null;
    issued_at: string | null;
    updated_at: string | null;
    clinic_id: string | null;
    doctor_id: string | null;
    patient_id: string | null;
    name: string | null;
    mobile: string | null;
    status: string | null;
    gross_amount: number | null;
    item_discount_amount: number | null;
    additional_discount_type: string | null;
    additional_discount_value: number | null;
    additional_discount_amount: number | null;
    net_amount: number | null;
    paid_amount: number | null;
    due_amount: number | null;
    payment_id: string | null;
    payment_link: string | null;
    transaction_reference: string | null;
    pdf_url: string | null;
    remarks: string | null;
    actor: string | null;
    flavour: string | null;
    archive: number | null;
    aid: string | null;
    client_id: string | null;
    event_time: string | null;
    delivery_id: string | null;
    received_at: string | null;
    applied_at: string | null;
  };
  consent_form: {
    business_id: string;
    form_id: string;
    day: string | null;
    event_time: string | null;
    doctor_id: string | null;
    patient_id: string | null;
    owner: string | null;
    pdf_url: string | null;
    send_pdf_url: string | null;
    client_id: string | null;
    last_event: string | null;
    delivery_id: string | null;
    type: string | null;
  };
  review_request: {
    business_id: string;
    day: string | null;
    requested_at: string | null;
    clinic_id: string | null;
    doctor_id: string | null;
    patient_id: string | null;
    appointment_id: string | null;
    google_review_link: string | null;
    client_id: string | null;
    delivery_id: string;
  };
  appointment: {
    business_id: string;
    appointment_id: string;
    day: string | null;
    booked_at: string | null;
    completed_at: string | null;
    modified_at: string | null;
    status: string | null;
    state: string | null;
    clinic_id: string | null;
    doctor_id: string | null;
    patient_id: string | null;
    partner_appointment_id: string | null;
    partner_clinic_id: string | null;
    partner_doctor_id: string | null;
    partner_patient_id: string | null;
    action: string | null;
    client_id: string | null;
    last_event: string | null;
    event_time: string | null;
    delivery_id: string | null;
    received_at: string | null;
    applied_at: string | null;
    custom_attributes: unknown;
    workflow_data: unknown;
    partner_meta: unknown;
    starts_at: string | null;
  };
  prescription: {
    business_id: string;
    prescription_id: string;
    day: string | null;
    prescribed_at: string | null;
    modified_at: string | null;
    action: string | null;
    clinic_id: string | null;
    doctor_id: string | null;
    patient_id: string | null;
    partner_appointment_id: string | null;
    partner_clinic_id: string | null;
    partner_doctor_id: string | null;
    partner_patient_id: string | null;
    current_version: string | null;
    previous_version: string | null;
    pdf_url: string | null;
    print_pdf_url: string | null;
    client_id: string | null;
    last_event: string | null;
    event_time: string | null;
    delivery_id: string | null;
    partner_meta: unknown;
  };
  payment_request: {
    business_id: string;
    delivery_id: string;
    day: string | null;
    requested_at: string | null;
    appointment_id: string | null;
    doctor_id: string | null;
    patient_id: string | null;
    net_amount: number | null;
    payment_link: string | null;
    client_id: string | null;
  };
  practice_change: {
    business_id: string;
    delivery_id: string;
    day: string | null;
    event_time: string | null;
    event: string | null;
    clinic_id: string | null;
    doctor_id: string | null;
    partner_clinic_id: string | null;
    partner_doctor_id: string | null;
    created_at: string | null;
    modified_at: string | null;
    client_id: string | null;
  };
  admission: {
    business_id: string;
    admission_id: string;
    day: string | null;
    admitted_at: string | null;
    stage: string | null;
    status: string | null;
    has_ended: boolean | null;
    inpatient_number: string | null;
    patient_id: string | null;
    doctor_id: string | null;
    facility_id: string | null;
    department: string | null;
    billed_amount: number | null;
    paid_amount: number | null;
    due_amount: number | null;
    created_at: string | null;
    updated_at: string | null;
    client_id: string | null;
    last_event: string | null;
    event_time: string | null;
    delivery_id: string | null;
    category: unknown;
    bed: unknown;
    doctor: unknown;
    facility: unknown;
    patient: unknown;
    attendee: unknown;
    insurance: unknown;
    medico_legal_case: unknown;
    procedures: unknown;
    rateplan: unknown;
    refer: unknown;
    duration: unknown;
  };
  admission_event: {
    business_id: string;
    event_id: string;
    day: string | null;
    happened_at: string | null;
    kind: string | null;
    admission_id: string | null;
    patient_id: string | null;
    clearance_type: string | null;
    new_value: string | null;
    client_id: string | null;
    last_event: string | null;
    event_time: string | null;
    delivery_id: string | null;
    made_by: unknown;
  };
  admission_clearance: {
    business_id: string;
    clearance_id: string;
    day: string | null;
    type: string | null;
    status: string | null;
    is_open: boolean | null;
    admission_id: string | null;
    patient_id: string | null;
    completed_at: string | null;
    updated_at: string | null;
    client_id: string | null;
    last_event: string | null;
    event_time: string | null;
    delivery_id: string | null;
    completed_by: unknown;
  };
  admission_estimate: {
    business_id: string;
    estimate_id: string;
    day: string | null;
    name: string | null;
    service_id: string | null;
    quantity: number | null;
    rate: number | null;
    estimated_amount: number | null;
    estimated_at: string | null;
    remarks: string | null;
    admission_id: string | null;
    patient_id: string | null;
    created_at: string | null;
    updated_at: string | null;
    client_id: string | null;
    last_event: string | null;
    event_time: string | null;
    delivery_id: string | null;
    discount: unknown;
    added_by: unknown;
  };
  notice: {
    business_id: string;
    delivery_id: string;
    day: string | null;
    event_time: string | null;
    event: string | null;
    appointment_id: string | null;
    clinic_id: string | null;
    doctor_id: string | null;
    patient_id: string | null;
    doctor_name: string | null;
    patient_name: string | null;
    prescription_id: string | null;
    pdf_url: string | null;
    actor_id: string | null;
    booking_link: string | null;
    due_date: string | null;
    vaccines: string | null;
    client_id: string | null;
  };
  health_account: {
    business_id: string;
    day: string | null;
    event_time: string | null;
    patient_id: string | null;
    partner_patient_id: string | null;
    abha_address: string;
    abha_number: string | null;
    hip_id: string | null;
    hip_code: string | null;
    req_id: string | null;
    client_id: string | null;
    last_event: string | null;
    delivery_id: string | null;
  };
  care_context: {
    business_id: string;
    care_context_id: string;
    day: string | null;
    event_time: string | null;
    status: string | null;
    retry_count: string | null;
    patient_id: string | null;
    partner_patient_id: string | null;
    abha_address: string | null;
    hip_id: string | null;
    link_error: string | null;
    client_id: string | null;
    last_event: string | null;
    delivery_id: string | null;
  };
  booking: {
    business_id: string;
    booking_id: string;
    day: string | null;
    event_time: string | null;
    state: string | null;
    patient_id: string | null;
    billing_name: string | null;
    billing_phone: string | null;
    slot: unknown;
    doctor: unknown;
    billing: unknown;
    patient: unknown;
    client_id: string | null;
    last_event: string | null;
    delivery_id: string | null;
  };
  other: {
    business_id: string;
    delivery_id: string;
    day: string | null;
    event_time: string | null;
    event: string | null;
    client_id: string | null;
    patient_id: string | null;
    data: unknown;
  };
}

/** The columns that cannot identify a patient: those that a public token reads. */
export interface PublicColumns {
  receipt:
    | 'business_id'
    | 'receipt_id'
    | 'day'
    | 'last_event'
    | 'deleted_at'
    | 'receipt_number'
    | 'issued_at'
    | 'updated_at'
    | 'clinic_id'
    | 'doctor_id'
    | 'status'
    | 'gross_amount'
    | 'item_discount_amount'
    | 'additional_discount_type'
    | 'additional_discount_value'
    | 'additional_discount_amount'
    | 'net_amount'
    | 'paid_amount'
    | 'due_amount'
    | 'actor'
    | 'archive'
    | 'aid'
    | 'client_id'
    | 'event_time'
    | 'delivery_id'
    | 'received_at'
    | 'applied_at';
  consent_form:
    | 'business_id'
    | 'form_id'
    | 'day'
    | 'event_time'
    | 'doctor_id'
    | 'owner'
    | 'client_id'
    | 'last_event'
    | 'delivery_id'
    | 'type';
  review_request:
    | 'business_id'
    | 'day'
    | 'requested_at'
    | 'clinic_id'
    | 'doctor_id'
    | 'appointment_id'
    | 'client_id'
    | 'delivery_id';
  appointment:
    | 'business_id'
    | 'appointment_id'
    | 'day'
    | 'booked_at'
    | 'completed_at'
    | 'modified_at'
    | 'status'
    | 'state'
    | 'clinic_id'
    | 'doctor_id'
    | 'partner_clinic_id'
    | 'partner_doctor_id'
    | 'action'
    | 'client_id'
    | 'last_event'
    | 'event_time'
    | 'delivery_id'
    | 'received_at'
    | 'applied_at'
    | 'starts_at';
  prescription:
    | 'business_id'
    | 'prescription_id'
    | 'day'
    | 'prescribed_at'
    | 'modified_at'
    | 'action'
    | 'clinic_id'
    | 'doctor_id'
    | 'partner_clinic_id'
    | 'partner_doctor_id'
    | 'client_id'
    | 'last_event'
    | 'event_time'
    | 'delivery_id';
  payment_request:
    | 'business_id'
    | 'delivery_id'
    | 'day'
    | 'requested_at'
    | 'appointment_id'
    | 'doctor_id'
    | 'net_amount'
    | 'client_id';
  practice_change:
    | 'business_id'
    | 'delivery_id'
    | 'day'
    | 'event_time'
    | 'event'
    | 'clinic_id'
    | 'doctor_id'
    | 'partner_clinic_id'
    | 'partner_doctor_id'
    | 'created_at'
    | 'modified_at'
    | 'client_id';
  admission:
    | 'business_id'
    | 'admission_id'
    | 'day'
    | 'admitted_at'
    | 'stage'
    | 'status'
    | 'has_ended'
    | 'doctor_id'
    | 'facility_id'
    | 'billed_amount'
    | 'paid_amount'
    | 'due_amount'
    | 'created_at'
    | 'updated_at'
    | 'client_id'
    | 'last_event'
    | 'event_time'
    | 'delivery_id';
  admission_event:
    | 'business_id'
    | 'event_id'
    | 'day'
    | 'happened_at'
    | 'kind'
    | 'admission_id'
    | 'clearance_type'
    | 'client_id'
    | 'last_event'
    | 'event_time'
    | 'delivery_id';
  admission_clearance:
    | 'business_id'
    | 'clearance_id'
    | 'day'
    | 'type'
    | 'status'
    | 'is_open'
    | 'admission_id'
    | 'completed_at'
    | 'updated_at'
    | 'client_id'
    | 'last_event'
    | 'event_time'
    | 'delivery_id';
  admission_estimate:
    | 'business_id'
    | 'estimate_id'
    | 'day'
    | 'service_id'
    | 'quantity'
    | 'rate'
    | 'estimated_amount'
    | 'estimated_at'
    | 'admission_id'
    | 'created_at'
    | 'updated_at'
    | 'client_id'
    | 'last_event'
    | 'event_time'
    | 'delivery_id';
  notice:
    | 'business_id'
    | 'delivery_id'
    | 'day'
    | 'event_time'
    | 'event'
    | 'appointment_id'
    | 'clinic_id'
    | 'doctor_id'
    | 'prescription_id'
    | 'actor_id'
    | 'client_id';
  health_account:
    | 'business_id'
    | 'day'
    | 'event_time'
    | 'hip_id'
    | 'hip_code'
    | 'req_id'
    | 'client_id'
    | 'last_event'
    | 'delivery_id';
  care_context:
    | 'business_id'
    | 'care_context_id'
    | 'day'
    | 'event_time'
    | 'status'
    | 'retry_count'
    | 'hip_id'
    | 'client_id'
    | 'last_event'
    | 'delivery_id';
  booking:
    | 'business_id'
    | 'booking_id'
    | 'day'
    | 'event_time'
    | 'state'
    | 'client_id'
    | 'last_event'
    | 'delivery_id';
  other: 'business_id' | 'delivery_id' | 'day' | 'event_time' | 'event' | 'client_id';
}
