import { aboutVisit, appointmentId, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import { versionsOf } from '../scenarios/appointment.ts';
import { consentFormScenario } from '../scenarios/consent-form.ts';
import { prescriptionScenario } from '../scenarios/prescription.ts';
import { reviewRequestScenario } from '../scenarios/review-request.ts';
import { inSeconds } from '../scenarios/scenario.ts';
import { type Bill, billEvents } from './bill.ts';
import { dayOf, deskTime, evening, isOpen, midnight, minutes, openDay, visitTime } from './calendar.ts';
import { type TimedEvent, timed } from './timed-event.ts';

export interface VisitPlan extends Pick<Bill, 'practice' | 'branch' | 'amount'> {
  readonly doctor: string;
  readonly patient: Visit['patient'];
  readonly day: number;
}

/** No appointment is booked longer before its day. */
export const mostDaysAhead = 14;

const slotSeconds = 900;

/**
 * A visit from its booking: the patient walks in, or has booked some days before. Some appointments are cancelled, missed
 * or moved to another day; the others lead to a receipt, and to what else there is.
 */
export function visitEvents(random: Random, plan: VisitPlan): TimedEvent[] {
  const { doctor, patient, day } = plan;
  const visit = {
    appointmentId: appointmentId(random),
    patient,
    doctor,
    clinicId: plan.branch.clinic.clinicId,
  };
  const start = visitTime(random, day);
  if (random.chance(0.3)) {
    const walksIn = appointment(random, visit, start - minutes(random, 5, 40), start);
    return [...walksIn.events, ...consultation(random, plan, visit, start, walksIn.changed)];
  }
  const isMoved = random.chance(0.07);
  const firstDay = isMoved ? openDay(day - random.between(1, 3), -1) : day;
  const firstStart = isMoved ? visitTime(random, firstDay) : start;
  const bookedAt = deskTime(random, openDay(firstDay - random.pick([1, 1, 1, 2, 2, 3, 5, 7]), -1));
  if (!isMoved) return planned(random, plan, visit, appointment(random, visit, bookedAt, start), start);

  const movedAt = between(random, bookedAt, firstStart);
  const first = { ...visit, appointmentId: appointmentId(random) };
  const { events, changed } = appointment(random, first, bookedAt, firstStart);
  const next = appointment(random, visit, movedAt, start, { prev_aids: [first.appointmentId] });
  return [
    ...events,
    changed(random.pick(['RE', 'RES', 'RES', 'RED']), movedAt, { next_aid: visit.appointmentId }),
    ...planned(random, plan, visit, next, start),
  ];
}

type Appointment = ReturnType<typeof appointment>;

/** Its booking, and what makes a change of its status. */
function appointment(random: Random, visit: Visit, bookedAt: number, start: number, links = {}) {
  // The platform knows the time, which it does not document for callbacks.
  const slot = { start_time: inSeconds(start), end_time: inSeconds(start) + slotSeconds };
  const version = versionsOf(random, visit, bookedAt, slot);
  const booked = version('appointment.created', bookedAt, { status: 'BK', action: 'created' }, links);
  const changed = (status: string, at: number, links?: Record<string, unknown>): TimedEvent => ({
    ...version('appointment.statuschange', at, { status }, links),
    at,
  });
  return { bookedAt, events: [{ ...booked, at: bookedAt }] as TimedEvent[], changed };
}

/** A visit that was planned happens, or does not. */
function planned(
  random: Random,
  plan: VisitPlan,
  visit: Visit,
  { bookedAt, events, changed }: Appointment,
  start: number,
): TimedEvent[] {
  const fate = random.between(1, 100);
  if (fate <= 7) {
    const status = random.pick(['CN', 'CN', 'CNS', 'CND']);
    return [...events, changed(status, between(random, bookedAt, start))];
  }
  const remindedAt = evening(openDay(plan.day - 1, -1));
  const reminder = { event: 'appointment.reminder_instant', data: aboutVisit(visit), at: remindedAt };
  const reminded = remindedAt > bookedAt ? [...events, reminder] : events;
  if (fate <= 14) return [...reminded, changed(random.pick(['NS', 'NS', 'NSS']), midnight(plan.day))];
  return [...reminded, ...consultation(random, plan, visit, start, changed)];
}

function consultation(
  random: Random,
  { practice, branch, amount, day }: VisitPlan,
  visit: Visit,
  start: number,
  changed: Appointment['changed'],
): TimedEvent[] {
  const events: TimedEvent[] = [];
  if (random.chance(0.2)) events.push(changed('CK', start - minutes(random, 1, 4)));
  const beganAt = start + minutes(random, 0, 25);
  if (random.chance(0.3)) events.push(changed('OG', beganAt));
  if (random.chance(0.01)) return [...events, changed('AB', midnight(day))];

  const endedAt = beganAt + minutes(random, 8, 25);
  const pause = () => minutes(random, 1, 3);
  const isPrescribed = random.chance(0.7);
  const writtenAt = endedAt - minutes(random, 3, 6);
  if (isPrescribed) {
    const written = timed(prescriptionScenario(random, visit, writtenAt), writtenAt, pause);
    events.push(...written.slice(0, random.chance(0.2) ? written.length : 1));
  }
  events.push(changed(isPrescribed ? 'CM' : 'CMNP', endedAt));
  const at = endedAt + minutes(random, 1, 8);
  events.push(...billEvents(random, { practice, branch, visit, at, amount }));
  if (random.chance(0.05))
    events.push(...timed(consentFormScenario(random, branch.clinic, visit), at, pause));
  if (random.chance(0.25)) {
    const askedAt = endedAt + minutes(random, 30, 120);
    events.push(...timed(reviewRequestScenario(random, branch.clinic, visit), askedAt, pause));
  }
  const remindedAt = evening(openDay(day + 6));
  if (random.chance(0.1))
    events.push({ event: 'appointment.followup_reminder_instant', data: aboutVisit(visit), at: remindedAt });
  return events;
}

/** A moment between two others, on an open day. */
function between(random: Random, first: number, last: number): number {
  const at = first + Math.floor((last - first) * (random.between(1, 9) / 10));
  return isOpen(dayOf(at)) ? at : first + minutes(random, 20, 40);
}
