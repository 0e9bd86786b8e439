import { aboutVisit, type Clinic, newVisit, partnerId, partnerPartiesOf, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import { prescriptionScenario } from '../scenarios/prescription.ts';
import { receiptScenario } from '../scenarios/receipt.ts';
import { inSeconds, interleaved, type ScenarioEvent } from '../scenarios/scenario.ts';

const ended = ['CM', 'CM', 'CM', 'CMNP', 'CN', 'CND', 'CNS', 'NS', 'NSD', 'NSS', 'AB'];

/** An event about the appointment at `now`, milliseconds, which changes these fields of it. */
export type Version = (event: string, now: number, changes: Record<string, unknown>) => ScenarioEvent;

/**
 * An appointment is booked, moved to another one if it is to be rescheduled, and ends with a change of status: its last
 * event. What it leads to comes before. Returns what makes later versions.
 */
export function* visitScenario(
  random: Random,
  clinic: Clinic,
  bookedAt: number,
  isRescheduled: boolean,
): Generator<ScenarioEvent, Version, number> {
  const first = newVisit(random, clinic);
  let visit = first;
  let version = versionsOf(random, first, bookedAt);
  let now = yield booked(version, bookedAt);
  if (isRescheduled) {
    visit = { ...newVisit(random, clinic), patient: first.patient, doctor: first.doctor };
    const status = random.pick(['RE', 'RES', 'RED']);
    now = yield version('appointment.statuschange', now, { status, next_aid: visit.appointmentId });
    version = versionsOf(random, visit, now, { prev_aids: [first.appointmentId] });
    now = yield booked(version, now);
  }
  const status = random.pick(ended);
  if (status === 'CM') {
    const billed = receiptScenario(random, clinic, now, visit);
    now = yield* interleaved(random, now, [billed, prescriptionScenario(random, visit, now)]);
  }
  yield version('appointment.statuschange', now, { status });
  return version;
}

/** The versions of an appointment that is open, and its booking. */
export function openVisit(random: Random, clinic: Clinic, bookedAt: number) {
  const version = versionsOf(random, newVisit(random, clinic), bookedAt);
  return { version, booking: booked(version, bookedAt) };
}

const booked = (version: Version, bookedAt: number) =>
  version('appointment.created', bookedAt, { status: 'BK', action: 'created', sa_ids: [] });

function versionsOf(random: Random, visit: Visit, bookedAt: number, links = {}): Version {
  let appointment: Record<string, unknown> = {
    ...aboutVisit(visit),
    ...partnerPartiesOf(visit),
    partner_appointment_id: partnerId(visit.appointmentId),
    created_at: inSeconds(bookedAt),
    modified_at: 0,
    partner_meta: { source: random.pick(['app', 'desk', 'phone']) },
    ...links,
  };
  return (event, now, changes) => {
    // Versions within a second would have no order.
    const modified_at = Math.max(inSeconds(now), Number(appointment.modified_at) + 1);
    appointment = { ...appointment, ...changes, modified_at };
    if (event !== 'appointment.statuschange') return { event, data: appointment };
    const { action, sa_ids, ...data } = appointment;
    return { event, data };
  };
}
