import type { Family } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { hexId, type Random, seededRandom } from './random.ts';
import { type Scenario, startScenario } from './scenarios.ts';
import { type Clinic, type Fields, newClinic } from './visit.ts';

/** The envelope of section 2.1. */
export interface Envelope {
  readonly event: string;
  readonly event_time: number;
  readonly timestamp: number;
  readonly client_id: string;
  readonly business_id: string;
  /** Names the admission that an event, a clearance or an estimate belongs to. */
  readonly transaction_id?: string;
  readonly data: Fields;
}

export interface Callback {
  /** Position in the history, from 0. A duplicate has the number of its original. */
  readonly number: number;
  readonly family: Family;
  readonly event: string;
  /** The body, sent and signed as UTF-8. */
  readonly body: string;
  readonly envelope: Envelope;
  /** A deliberate duplicate: identical, or with another `timestamp`. */
  readonly duplicate?: 'same bytes' | 'new timestamp';
  /** What is wrong with a deliberately invalid callback. */
  readonly invalid?: string;
}

export interface HistoryOptions {
  readonly seed: number;
  /** Start of the history, milliseconds since 1970. Default: defaultStart. */
  readonly start?: number | undefined;
  /** Its end. Default: it is endless. */
  readonly end?: number | undefined;
  /** As slow as real clinics; default: as fast as a test needs it. */
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

/** The documented families that list events. */
export const families: readonly Family[] = documented.filter(({ name }) => name !== 'other');

const hour = 3_600_000;
const day = 24 * hour;
const opensAt = 3.5 * hour;
const closesAt = 14.5 * hour;

/** Milliseconds: a minute of a scenario, and the longest time until the next one begins. */
const fast = { minute: 100, pause: 3_000 };
const real = { minute: 60_000, pause: 36 * 60_000 };

/** The next step of a scenario. */
interface Turn {
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
  const { start = defaultStart, lean = 0 } = options;
  const wanted = options.families ?? families.filter(({ path }) => path.isBasic);
  const pace = options.isReal ? real : fast;
  const random = seededRandom(options.seed);
  // A random of its own: lean callbacks are those of the same history.
  const leanRandom = seededRandom(options.seed, 2);
  const client_id = hexId(random);
  const businessIds = options.businessIds ?? Array.from({ length: 5 }, () => undefined);
  const clinics = businessIds.map((id) => newClinic(random, id));
  const scenarioOptions = { clock: () => now, families: wanted, isLean: () => leanRandom.chance(lean) };
  /** The earliest is the last. */
  const turns: Turn[] = [];
  const enqueue = (turn: Turn) => {
    let place = turns.length;
    while (place > 0 && turns[place - 1]!.at <= turn.at) place -= 1;
    turns.splice(place, 0, turn);
  };
  let now = start;
  let beginsAt = toOpeningHours(start);

  for (let number = 0; ; ) {
    while (turns.length === 0 || beginsAt <= turns.at(-1)!.at) {
      const clinic = random.pick(clinics);
      enqueue({ at: beginsAt, clinic, scenario: startScenario(random, clinic, scenarioOptions) });
      beginsAt = toOpeningHours(beginsAt + random.between(1, pace.pause));
    }
    const turn = turns.pop()!;
    if (turn.at > end) return;
    // At least a millisecond: the times of two versions of a receipt must differ.
    now = Math.max(now + 1, Math.min(turn.at, present()));
    const { done, value } = turn.scenario.next();
    if (done) continue;
    enqueue(typeof value === 'number' ? { ...turn, at: turn.at + value * pace.minute } : turn);
    if (typeof value !== 'object') continue;
    const { family, event, data, ...transaction } = value;
    const { businessId: business_id } = turn.clinic;
    const envelope = { event, ...timesOf(family, now, random), client_id, business_id, ...transaction, data };
    yield callbackOf(number++, family, envelope);
  }
}

export function callbackOf(number: number, family: Family, envelope: Envelope): Callback {
  return { number, family, event: envelope.event, body: JSON.stringify(envelope), envelope };
}

function timesOf({ name }: Family, now: number, random: Random) {
  // One family of the platform sends milliseconds and a timestamp of 0, the others whole seconds.
  if (name === 'review_request') return { event_time: now, timestamp: 0 };
  const seconds = Math.floor(now / 1000);
  return { event_time: seconds, timestamp: seconds + random.between(0, 3) };
}

// Clinics are open from 09:00 to 20:00 in India.
function toOpeningHours(now: number): number {
  const time = now % day;
  if (time < opensAt) return now - time + opensAt + (time % 60_000);
  return time < closesAt ? now : now - time + day + opensAt + (time % 60_000);
}
