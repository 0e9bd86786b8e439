import { documentedEvent, type Envelope, type Family } from './families.ts';
import { type Random, seededRandom } from './random.ts';
import { type Clinic, hexId, newClinic, type Scenario, startScenario } from './scenarios.ts';

export interface Callback {
  /** Position in the history, from 0. A duplicate has the number of its original. */
  readonly number: number;
  /** The family whose path it is sent to. */
  readonly family: Family;
  readonly event: string;
  readonly businessId: string;
  /** The body, sent and signed as UTF-8. */
  readonly body: string;
  readonly envelope: Envelope;
  /** Set on a deliberate duplicate: identical, or with another `timestamp`. */
  readonly duplicate?: 'same bytes' | 'new timestamp';
  /** Set on a deliberately invalid callback: what is wrong with it. */
  readonly invalid?: string;
}

export interface HistoryOptions {
  readonly seed: number;
  /** Start of the history, milliseconds since 1970. Default: defaultStart. */
  readonly start?: number | undefined;
  /** Its end. Default: it is endless. */
  readonly end?: number | undefined;
  /** As slow as real clinics, not as fast as a test needs it. */
  readonly isReal?: boolean | undefined;
  /**
   * The present, milliseconds since 1970: once the history has reached it, each event happens in the present, a
   * millisecond or more after the last one. Default: the history goes on into the future.
   */
  readonly present?: (() => number) | undefined;
  /** One clinic per business. Default: five, generated from the seed. */
  readonly businessIds?: readonly string[] | undefined;
  /** The families of the callbacks. Default: receipts, consent forms and review requests. */
  readonly families?: readonly Family[] | undefined;
  /** Share of updates and deletions with nothing but the id and, of an update, what it changes, 0 to 1. */
  readonly lean?: number | undefined;
}

/** 6 January 2025, 09:00 in India. */
export const defaultStart = Date.UTC(2025, 0, 6, 3, 30);

const basicFamilies: readonly Family[] = ['receipt', 'consent_form', 'review_request'];
const hour = 3_600_000;
const day = 24 * hour;
const opensAt = 3.5 * hour;
const closesAt = 14.5 * hour;

/** Milliseconds: a minute of a scenario, and the longest time until the next one begins. */
const fast = { minute: 100, pause: 3_000 };
const real = { minute: 60_000, pause: 36 * 60_000 };

interface Due {
  at: number;
  clinic: Clinic;
  scenario: Scenario;
}

/**
 * A lazy sequence of believable callbacks of some clinics, interleaved. The same options give the same callbacks; no two have the
 * same content, even without their `timestamp`. Other seeds give other businesses.
 */
export function* history(options: HistoryOptions): Generator<Callback, void> {
  const { present = () => Number.POSITIVE_INFINITY, end = Number.POSITIVE_INFINITY } = options;
  const { families = basicFamilies, start = defaultStart, lean = 0 } = options;
  const pace = options.isReal ? real : fast;
  const random = seededRandom(options.seed);
  // A random of its own: lean callbacks are those of the same history.
  const leanRandom = seededRandom(options.seed, 2);
  const isLean = () => leanRandom.chance(lean);
  const client_id = hexId(random);
  const businessIds = options.businessIds ?? Array.from({ length: 5 }, () => undefined);
  const clinics = businessIds.map((id) => newClinic(random, id));
  /** The earliest is the last. */
  const waiting: Due[] = [];
  const enqueue = (one: Due) => {
    let place = waiting.length;
    while (place > 0 && waiting[place - 1]!.at <= one.at) place -= 1;
    waiting.splice(place, 0, one);
  };
  let now = start;
  let beginsAt = toOpeningHours(start);

  for (let number = 0; ; ) {
    while (waiting.length === 0 || beginsAt <= waiting.at(-1)!.at) {
      const clinic = random.pick(clinics);
      const scenario = startScenario(random, clinic, { clock: () => now, families, isLean });
      enqueue({ at: beginsAt, clinic, scenario });
      beginsAt = toOpeningHours(beginsAt + random.between(1, pace.pause));
    }
    const due = waiting.pop()!;
    if (due.at > end) return;
    // At least a millisecond: the times of two versions of a receipt must differ.
    now = Math.max(now + 1, Math.min(due.at, present()));
    const { done, value } = due.scenario.next();
    if (done) continue;
    if (typeof value === 'number') {
      enqueue({ ...due, at: due.at + value * pace.minute });
      continue;
    }
    enqueue(due);
    if (!value) continue;
    const { event, data, ...transaction } = value;
    const { family } = documentedEvent(event);
    const { businessId: business_id } = due.clinic;
    const times = timesOf(family, now, random);
    const envelope = { event, ...times, client_id, business_id, ...transaction, data };
    yield callbackOf(number++, envelope);
  }
}

export function callbackOf(number: number, envelope: Envelope): Callback {
  const { event, business_id: businessId } = envelope;
  const { family } = documentedEvent(event);
  return { number, family, event, businessId, body: JSON.stringify(envelope), envelope };
}

function timesOf(family: Family, now: number, random: Random) {
  // One family of the platform sends milliseconds and a timestamp of 0, the others whole seconds.
  if (family === 'review_request') return { event_time: now, timestamp: 0 };
  const seconds = Math.floor(now / 1000);
  return { event_time: seconds, timestamp: seconds + random.between(0, 3) };
}

// Clinics are open from 09:00 to 20:00 in India.
function toOpeningHours(now: number): number {
  const time = now % day;
  if (time < opensAt) return now - time + opensAt + (time % 60_000);
  return time < closesAt ? now : now - time + day + opensAt + (time % 60_000);
}
