import type { Family } from '../callbacks/families/family.ts';
import { families as documented } from '../callbacks/families/index.ts';
import { newPractice, type Practice } from './practice.ts';
import { hexId, type Random, seededRandom } from './random.ts';
import { stepsOf } from './scenarios.ts';
import { planPast, startOfDay } from './schedule.ts';
import { createEmit, type Fields } from './visit.ts';

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
  readonly family: Family;
  readonly event: string;
  readonly body: string;
  readonly envelope: Envelope;
}

export interface CallbacksOptions {
  readonly seed: number;
  /** Milliseconds since 1970. Default: now. */
  readonly end?: number | undefined;
  /** Default: receipts, consent forms and review requests. */
  readonly families?: readonly Family[] | undefined;
  /** The last ones. Default: all. */
  readonly count?: number | undefined;
}

export const families: readonly Family[] = documented.filter(({ name }) => name !== 'other');

export const practiceOf = (seed: number, random = seededRandom(seed)): Practice =>
  newPractice(random, `6${String(seed).padStart(14, '0')}`);

/**
 * Eight believable weeks of a business, in order. On a day the same options give the same callbacks; no two have the same
 * content, even without their `timestamp`. Other seeds give other businesses.
 */
export function callbacks({ seed, end = Date.now(), count, ...options }: CallbacksOptions): Callback[] {
  const wanted = options.families ?? families.filter(({ path }) => path.isBasic);
  const random = seededRandom(seed);
  const practice = practiceOf(seed, random);
  const [client_id, business_id] = [hexId(random), practice.businessId];
  const steps = planPast(random, practice, startOfDay(end, -56), end)
    .flatMap((beginning) => {
      const emit = createEmit(random, beginning, wanted);
      return stepsOf(random, beginning, wanted).map((step) => ({ ...step, emit }));
    })
    .filter(({ at }) => at <= end)
    .sort((a, b) => a.at - b.at);
  let now = 0;
  const past = steps.flatMap(({ at, event, changes, emit }) => {
    // At least a millisecond: the times of two versions of a receipt must differ.
    now = Math.max(now + 1, at);
    const emitted = emit(now, event, changes);
    if (!emitted) return [];
    const { family, data, ...transaction } = emitted;
    const envelope = { event, ...timesOf(family, now, random), client_id, business_id, ...transaction, data };
    return [{ family, event, body: JSON.stringify(envelope), envelope }];
  });
  return past.slice(Math.max(0, past.length - (count ?? past.length)));
}

function timesOf({ name }: Family, now: number, random: Random) {
  // One family of the platform sends milliseconds and a timestamp of 0, the others whole seconds.
  if (name === 'review_request') return { event_time: now, timestamp: 0 };
  const seconds = Math.floor(now / 1000);
  return { event_time: seconds, timestamp: seconds + random.between(0, 3) };
}
