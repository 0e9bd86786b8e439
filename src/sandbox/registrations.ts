// Generated from src/families: npm run docs.

export const registrations = {
  receipt: {
    variable: 'RECEIPTS_PATH',
    events: {
      'receipt.created': '/registered_url_for_receipt_events',
      'receipt.updated': '/registered_url_for_receipt_events',
      'receipt.deleted': '/registered_url_for_receipt_events',
    },
    identifiedBy: ['receipt_id'],
    text: 'aid',
  },
  consent_form: {
    variable: 'CONSENT_FORMS_PATH',
    events: {
      'mcert.created': '/registered_url_for_consent_form',
      'mcert.updated': '/registered_url_for_consent_form',
    },
    identifiedBy: ['id'],
    text: 'docid',
  },
  review_request: {
    variable: 'REVIEW_REQUESTS_PATH',
    events: {
      'google_review.request': '/registered_url_for_google_review_events',
      'google_review.request_manual': '/registered_url_for_google_review_manual_events',
    },
    identifiedBy: [],
    text: 'doctor_id',
  },
  appointment: {
    variable: 'APPOINTMENTS_PATH',
    events: {
      'appointment.created': '/registered_url_for_add_appointment_events',
      'appointment.updated': '/registered_url_for_update_appointment_events',
      'appointment.statuschange': '/registered_url_for_status_change_events',
      'appointment.assessments.taken': '/registered_url_for_assessment_taken_events',
    },
    identifiedBy: ['appointment_id'],
    text: 'doctor_id',
  },
  prescription: {
    variable: 'PRESCRIPTIONS_PATH',
    events: {
      'prescription.created': '/registered_url_for_prescription_events',
      'prescription.updated': '/registered_url_for_prescription_events',
    },
    identifiedBy: ['prescription_id', 'rx_id'],
    text: 'doctor_id',
  },
  payment_request: {
    variable: 'PAYMENT_REQUESTS_PATH',
    events: { 'receipt_payment.requested': '/registered_url_for_receipt_payment_requested_events' },
    identifiedBy: [],
    text: 'appointment_id',
  },
  practice_change: {
    variable: 'PRACTICE_CHANGES_PATH',
    events: {
      'schedule.start_practice': '/registered_url_for_doctor_events',
      'schedule.stop_practice': '/registered_url_for_doctor_events',
      'schedule.available_for_consultation': '/registered_url_for_doctor_events',
    },
    identifiedBy: [],
    text: 'doctor_id',
  },
  admission: {
    variable: 'ADMISSIONS_PATH',
    events: {
      'ipd_admissions.created': '/registered_url_for_ipd_admissions_events',
      'ipd_admissions.updated': '/registered_url_for_ipd_admissions_events',
    },
    identifiedBy: ['id'],
    text: 'ipid',
  },
  admission_event: {
    variable: 'ADMISSION_EVENTS_PATH',
    events: {
      'ipd_admissions_events.created': '/registered_url_for_ipd_admissions_events_events',
      'ipd_admissions_events.updated': '/registered_url_for_ipd_admissions_events_events',
    },
    identifiedBy: ['id'],
    text: 'kind',
  },
  admission_clearance: {
    variable: 'ADMISSION_CLEARANCES_PATH',
    events: {
      'ipd_admissions_clearances.created': '/registered_url_for_ipd_admissions_clearances_events',
      'ipd_admissions_clearances.updated': '/registered_url_for_ipd_admissions_clearances_events',
    },
    identifiedBy: [],
    text: 'type',
  },
  admission_estimate: {
    variable: 'ADMISSION_ESTIMATES_PATH',
    events: {
      'ipd_admissions_estimates.created': '/registered_url_for_ipd_admissions_estimates_events',
      'ipd_admissions_estimates.updated': '/registered_url_for_ipd_admissions_estimates_events',
    },
    identifiedBy: ['id'],
    text: 'name',
  },
  notice: {
    variable: 'NOTICES_PATH',
    events: {
      'appointment.tele.dr_joined': '/registered_url_for_appointment_tele_dr_joined_webhook_events',
      'appointment.reminder_instant': '/registered_url_for_appointment_reminder_instant_webhook_events',
      'appointment.followup_reminder_instant':
        '/registered_url_for_appointment_followup_reminder_instant_webhook_events',
      'vaccination.reminder': '/registered_url_for_vaccination_reminder_webhook_events',
      'prescription.communication': '/registered_url_for_prescription_communication_events',
    },
    identifiedBy: [],
    text: 'doctor_id',
  },
} as const;
