import { hexId, newVisit, type Visit } from '../clinic.ts';
import { documentedEvent, type Envelope } from '../families.ts';
import { type Callback, callbackOf, type HistoryOptions, spellerOf, timesOf } from '../history.ts';
import { type Random, seededRandom } from '../random.ts';
import { admissionScenario } from '../scenarios/admission.ts';
import { bookingScenario, healthAccountScenario } from '../scenarios/health-account.ts';
import { vaccinationScenario } from '../scenarios/notices.ts';
import { practiceScenario } from '../scenarios/practice.ts';
import { billEvents } from './bill.ts';
import { busynessOf, dayMs, dayOf, deskTime, lastOpenDay, minutes, startOf } from './calendar.ts';
import { aliasesOf, newPractices, type Practice } from './practices.ts';
import { type TimedEvent, timed } from './timed-event.ts';
import { mostDaysAhead, visitEvents } from './visit.ts';

export interface PastOptions extends Pick<HistoryOptions, 'seed' | 'families' | 'spelling'> {
  /** Its first day begins at midnight in India before; milliseconds since 1970. */
  readonly start: number;
  /** Milliseconds: trends and silence are those of its end. */
  readonly duration: number;
  /** No event is later. */
  readonly until: number;
}

/** The salt of the random values. */
const salt = 5;
const trendDays = 90;
const silentDays = 23;

/** The names of a past's ids, as CSV. They depend on the seed alone. */
export const pastAliases = (seed: number): string => aliasesOf(newPractices(seededRandom(seed, salt)));

/**
 * A believable past of some clinics with returning patients, in order of time: busy Mondays, closed Sundays, ends of months,
 * dues that age, a doctor whose patients leave, a clinic that falls silent. It ends with appointments of the days to come.
 * The same options give the same callbacks; a later `until` adds some at the end.
 */
export function* past(options: PastOptions): Generator<Callback, void> {
  const { seed, families, start, duration, until } = options;
  const random = seededRandom(seed, salt);
  const practices = newPractices(random);
  const clientId = hexId(random);
  const spell = spellerOf(options);
  const [first, last] = [dayOf(start), dayOf(start + duration)];
  const silentFrom = startOf(last) - Math.min(silentDays * dayMs, duration / 4);
  const waiting = new Map<number, Waiting[]>();
  let number = 0;

  function plan(day: number): void {
    const daysLeft = Math.max(0, last - day);
    for (const practice of practices) {
      for (const event of eventsPlannedFor(random, practice, day, Math.max(0, 1 - daysLeft / trendDays))) {
        if (practice.fallsSilent && event.at >= silentFrom) continue;
        const ofDay = waiting.get(dayOf(event.at)) ?? [];
        waiting.set(dayOf(event.at), ofDay);
        ofDay.push({ practice, event });
      }
    }
  }

  // What is planned for a day begins up to mostDaysAhead before it.
  for (let day = first - mostDaysAhead; day <= dayOf(until); day++) {
    plan(day + mostDaysAhead);
    const ofDay = waiting.get(day) ?? [];
    waiting.delete(day);
    for (const { practice, event } of ofDay.sort((a, b) => a.event.at - b.event.at)) {
      if (event.at > until) return;
      const { family } = documentedEvent(event.event);
      const envelope = envelopeOf(event, timesOf(family, event.at, random), clientId, practice.businessId);
      if (!families || families.includes(family)) yield callbackOf(number++, envelope, spell(envelope));
    }
  }
}

interface Waiting {
  readonly practice: Practice;
  readonly event: TimedEvent;
}

function envelopeOf(
  { event, data, transactionId }: TimedEvent,
  times: Pick<Envelope, 'event_time' | 'timestamp'>,
  client_id: string,
  business_id: string,
): Envelope {
  const named = transactionId === undefined ? {} : { transaction_id: transactionId };
  return { event, ...times, client_id, business_id, ...named, data };
}

/** @param progress of the trends, from 0 to 1 */
function* eventsPlannedFor(random: Random, practice: Practice, day: number, progress: number) {
  const busyness = busynessOf(day);
  for (const branch of practice.clinics) {
    const { clinic, doctors, admissions } = branch;
    const some = { practice, branch };
    if (random.chance(admissions / 7)) yield* stay(random, practice, branch, day);
    if (busyness === 0) continue;
    for (const { id, fee, visits, trend = 0 } of doctors) {
      const expected = visits * busyness * (1 + trend * progress) * (random.between(85, 115) / 100);
      for (let count = Math.floor(expected + random.between(0, 99) / 100); count > 0; count--) {
        const patient = practice.patients.next(day);
        yield* visitEvents(random, { ...some, doctor: id, patient, day, amount: priceOf(random, fee) });
      }
    }
    if (day === lastOpenDay(day)) {
      for (let count = random.between(3, 6); count > 0; count--)
        yield* monthlyPlan(random, practice, branch, day);
    }
    for (const [scenario, share] of besides) {
      const at = deskTime(random, day);
      if (random.chance(share)) yield* timed(scenario(random, clinic, at), at, () => minutes(random, 1, 20));
    }
  }
}

/** What happens at a clinic besides visits, and how often on a day. */
const besides = [
  [vaccinationScenario, 0.4],
  [healthAccountScenario, 0.2],
  [bookingScenario, 0.3],
  [practiceScenario, 0.02],
] as const;

/** In rupees: the consultation, often with a test, often with medicines. */
function priceOf(random: Random, fee: number): number {
  const test = random.chance(0.3) ? random.pick([150, 250, 300, 450, 600, 850, 1_200, 2_500]) : 0;
  const medicines = random.chance(0.25) ? random.between(160, 1_800) / 2 : 0;
  return fee + test + medicines;
}

function stay(random: Random, practice: Practice, { clinic }: Practice['clinics'][number], day: number) {
  const at = startOf(day) + minutes(random, 0, 24 * 60);
  const patient = practice.patients.next(day);
  return timed(admissionScenario(random, clinic, at, patient), at, () => minutes(random, 20, 600));
}

/** Billed at the end of the month, to a patient who pays by the month. */
function monthlyPlan(random: Random, practice: Practice, branch: Practice['clinics'][number], day: number) {
  const patient = practice.patients.next(day);
  const visit: Visit = { ...newVisit(random, branch.clinic), patient };
  const amount = random.pick([2_500, 3_000, 4_500, 6_000]);
  return billEvents(random, { practice, branch, visit, at: deskTime(random, day), amount, isPlan: true });
}
