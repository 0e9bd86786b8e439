import type { Family } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { newPractice, type Practice } from './practice.ts';
import { hexId, type Random, seededRandom } from './random.ts';
import { type Scenario, startScenario } from './scenarios.ts';
import { minute, planEndlessly, planPast } from './schedule.ts';
import type { Fields } from './visit.ts';

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
  /** From 0. */
  readonly number: number;
  readonly family: Family;
  readonly event: string;
  readonly body: string;
  readonly envelope: Envelope;
}

export interface HistoryOptions {
  readonly seed: number;
  /** Milliseconds since 1970. Default: defaultStart. */
  readonly start?: number | undefined;
  /** The history is as slow as real clinics, until then. Default: it is endless, and as fast as a test needs it. */
  readonly end?: number | undefined;
  /** Once the history has reached the present, each event happens then. Default: it goes on into the future. */
  readonly present?: (() => number) | undefined;
  /** Default: five, generated from the seed. */
  readonly businessIds?: readonly string[] | undefined;
  /** Default: receipts, consent forms and review requests. */
  readonly families?: readonly Family[] | undefined;
}

export interface CallbacksOptions extends HistoryOptions {
  /** Drops callbacks of the history. */
  readonly isSent?: ((callback: Callback) => boolean) | undefined;
  /** Default: all. */
  readonly count?: number | undefined;
}

/** 6 January 2025, 09:00 in India. */
export const defaultStart = Date.UTC(2025, 0, 6, 3, 30);

export const families: readonly Family[] = documented.filter(({ name }) => name !== 'other');

const patientsOfPast = 60;

interface Turn {
  at: number;
  businessId: string;
  scenario: Scenario;
}

/** The businesses of a history. */
export function practicesOf(options: HistoryOptions, random = seededRandom(options.seed)): Practice[] {
  const businessIds = options.businessIds ?? Array.from({ length: 5 }, () => undefined);
  return businessIds.map((id) => newPractice(random, options.end === undefined ? 0 : patientsOfPast, id));
}

/**
 * Believable callbacks of some businesses, interleaved, lazily. The same options give the same callbacks; no two have the same
 * content, even without their `timestamp`. Other seeds give other businesses.
 */
export function* history(options: HistoryOptions): Generator<Callback, void> {
  const { start = defaultStart, end, present = () => Number.POSITIVE_INFINITY } = options;
  const wanted = options.families ?? families.filter(({ path }) => path.isBasic);
  const random = seededRandom(options.seed);
  const practices = practicesOf(options, random);
  const client_id = hexId(random);
  const beginnings =
    end === undefined ? planEndlessly(random, practices, start) : planPast(random, practices, start, end);
  const scenarioOptions = { clock: () => now, families: wanted };
  // The earliest is the last.
  const turns: Turn[] = [];
  const enqueue = (turn: Turn) => {
    let place = turns.length;
    while (place > 0 && turns[place - 1]!.at <= turn.at) place -= 1;
    turns.splice(place, 0, turn);
  };
  let now = 0;
  let next = beginnings.next();

  for (let number = 0; ; ) {
    while (!next.done && (turns.length === 0 || next.value.at <= turns.at(-1)!.at)) {
      const { at, practice } = next.value;
      const scenario = startScenario(random, next.value, scenarioOptions);
      enqueue({ at, businessId: practice.businessId, scenario });
      next = beginnings.next();
    }
    const turn = turns.pop();
    if (!turn || turn.at > (end ?? turn.at)) return;
    // At least a millisecond: the times of two versions of a receipt must differ.
    now = Math.max(now + 1, Math.min(turn.at, present()));
    const { done, value } = turn.scenario.next();
    if (done) continue;
    // Without an end, a minute takes 100 ms.
    const length = end === undefined ? 100 : minute;
    enqueue(typeof value === 'number' ? { ...turn, at: turn.at + value * length } : turn);
    if (typeof value !== 'object') continue;
    const { family, event, data, ...transaction } = value;
    const { businessId: business_id } = turn;
    const envelope = { event, ...timesOf(family, now, random), client_id, business_id, ...transaction, data };
    yield { number: number++, family, event, body: JSON.stringify(envelope), envelope };
  }
}

function timesOf({ name }: Family, now: number, random: Random) {
  // One family of the platform sends milliseconds and a timestamp of 0, the others whole seconds.
  if (name === 'review_request') return { event_time: now, timestamp: 0 };
  const seconds = Math.floor(now / 1000);
  return { event_time: seconds, timestamp: seconds + random.between(0, 3) };
}

/** A history, lazily. The same options give the same sequence; bodies are distinct. */
export function* callbacks(options: CallbacksOptions): Generator<Callback, void> {
  const { count = Number.POSITIVE_INFINITY, isSent = () => true } = options;
  let left = count;
  if (left <= 0) return;
  for (const callback of history(options)) {
    if (!isSent(callback)) continue;
    yield callback;
    if (--left <= 0) return;
  }
}
