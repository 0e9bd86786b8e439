/**
 * Of each family: the environment variable of its registered paths, and the events by documented path (section 4.5; the
 * other families as the service documents them).
 */
const registrations = {
  receipt: {
    variable: 'RECEIPTS_PATH',
    events: { receipt_events: ['receipt.created', 'receipt.updated', 'receipt.deleted'] },
  },
  consent_form: {
    variable: 'CONSENT_FORMS_PATH',
    events: { consent_form: ['mcert.created', 'mcert.updated'] },
  },
  review_request: {
    variable: 'REVIEW_REQUESTS_PATH',
    events: {
      google_review_events: ['google_review.request'],
      google_review_manual_events: ['google_review.request_manual'],
    },
  },
  appointment: {
    variable: 'APPOINTMENTS_PATH',
    events: {
      add_appointment_events: ['appointment.created'],
      update_appointment_events: ['appointment.updated'],
      status_change_events: ['appointment.statuschange'],
      assessment_taken_events: ['appointment.assessments.taken'],
    },
  },
  prescription: {
    variable: 'PRESCRIPTIONS_PATH',
    events: { prescription_events: ['prescription.created', 'prescription.updated'] },
  },
  payment_request: {
    variable: 'PAYMENT_REQUESTS_PATH',
    events: { receipt_payment_requested_events: ['receipt_payment.requested'] },
  },
  practice_change: {
    variable: 'PRACTICE_CHANGES_PATH',
    events: {
      doctor_events: [
        'schedule.start_practice',
        'schedule.stop_practice',
        'schedule.available_for_consultation',
      ],
    },
  },
  admission: {
    variable: 'ADMISSIONS_PATH',
    events: { ipd_admissions_events: ['ipd_admissions.created', 'ipd_admissions.updated'] },
  },
  admission_event: {
    variable: 'ADMISSION_EVENTS_PATH',
    events: {
      ipd_admissions_events_events: ['ipd_admissions_events.created', 'ipd_admissions_events.updated'],
    },
  },
  admission_clearance: {
    variable: 'ADMISSION_CLEARANCES_PATH',
    events: {
      ipd_admissions_clearances_events: [
        'ipd_admissions_clearances.created',
        'ipd_admissions_clearances.updated',
      ],
    },
  },
  admission_estimate: {
    variable: 'ADMISSION_ESTIMATES_PATH',
    events: {
      ipd_admissions_estimates_events: [
        'ipd_admissions_estimates.created',
        'ipd_admissions_estimates.updated',
      ],
    },
  },
  notice: {
    variable: 'NOTICES_PATH',
    events: {
      appointment_tele_dr_joined_webhook_events: ['appointment.tele.dr_joined'],
      appointment_reminder_instant_webhook_events: ['appointment.reminder_instant'],
      appointment_followup_reminder_instant_webhook_events: ['appointment.followup_reminder_instant'],
      vaccination_reminder_webhook_events: ['vaccination.reminder'],
      prescription_communication_events: ['prescription.communication'],
    },
  },
} as const satisfies Record<string, { variable: string; events: Record<string, readonly string[]> }>;

export type Family = keyof typeof registrations;

export const families = Object.keys(registrations) as Family[];

/** An event with its family and its documented path. */
export interface DocumentedEvent {
  readonly event: string;
  readonly family: Family;
  readonly path: string;
}

export const documentedEvents: readonly DocumentedEvent[] = families.flatMap((family) =>
  Object.entries<readonly string[]>(registrations[family].events).flatMap(([name, events]) =>
    events.map((event) => ({ event, family, path: `/registered_url_for_${name}` })),
  ),
);

const byEvent = new Map(documentedEvents.map((documented) => [documented.event, documented]));

/** The family and the documented path of an event. */
export const documentedEvent = (event: string): DocumentedEvent => byEvent.get(event)!;

/** The environment variable of a family's registered paths. */
export const pathVariable = (family: Family): string => registrations[family].variable;
