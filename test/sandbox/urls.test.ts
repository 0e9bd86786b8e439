import { documentedEvents } from '../../src/sandbox/families.ts';
import { eventsUrl, registeredUrls } from '../../src/sandbox/urls.ts';

/** The paths as the platform documents them; "…" is /registered_url_for_. */
const documented = `
…add_appointment_events appointment.created
…update_appointment_events appointment.updated
…status_change_events appointment.statuschange
…assessment_taken_events appointment.assessments.taken
…appointment_tele_dr_joined_webhook_events appointment.tele.dr_joined
…appointment_reminder_instant_webhook_events appointment.reminder_instant
…appointment_followup_reminder_instant_webhook_events appointment.followup_reminder_instant
…vaccination_reminder_webhook_events vaccination.reminder
…prescription_events prescription.created prescription.updated
…prescription_communication_events prescription.communication
…doctor_events schedule.start_practice schedule.stop_practice schedule.available_for_consultation
…google_review_events google_review.request
…google_review_manual_events google_review.request_manual
…consent_form mcert.created mcert.updated
…receipt_events receipt.created receipt.updated receipt.deleted
…receipt_payment_requested_events receipt_payment.requested
…ipd_admissions_events ipd_admissions.created ipd_admissions.updated
…ipd_admissions_events_events ipd_admissions_events.created ipd_admissions_events.updated
…ipd_admissions_clearances_events ipd_admissions_clearances.created ipd_admissions_clearances.updated
…ipd_admissions_estimates_events ipd_admissions_estimates.created ipd_admissions_estimates.updated`;

const paths = documented
  .replaceAll('…', '/registered_url_for_')
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [path, ...events] = line.split(' ');
    return events.map((event) => [event, path] as const);
  });

const familyOf = (event: string) => documentedEvents.find((documented) => documented.event === event)!.family;
const registered = (event: string, env = {}) =>
  registeredUrls('http://receiver.example/', env)({ event, family: familyOf(event) });

it.each(paths)('sends %s to its documented path %s', (event, path) => {
  expect(registered(event)).toBe(`http://receiver.example${path}`);
});

it('sends the events of a family to the path of its variable', () => {
  const env = { RECEIPTS_PATH: '', REVIEW_REQUESTS_PATH: '/ours' };
  expect(registered('google_review.request', env)).toBe('http://receiver.example/ours');
  expect(registered('receipt.created', env)).toBe(
    'http://receiver.example/registered_url_for_receipt_events',
  );
});

it("sends a callback at another family's path to that family's first one", () => {
  const url = registeredUrls('http://receiver.example', { CONSENT_FORMS_PATH: '/forms' });
  expect(url({ event: 'receipt.created', family: 'consent_form' })).toBe('http://receiver.example/forms');
});

it('sends everything to the one path of EVENTS_PATH', () => {
  const callback = { event: 'receipt.created', family: 'receipt' } as const;
  expect(eventsUrl('http://receiver.example')(callback)).toBe('http://receiver.example/events');
  expect(eventsUrl('http://receiver.example/', { EVENTS_PATH: '/all' })(callback)).toBe(
    'http://receiver.example/all',
  );
});
