import { type Clinic, newClinic, placeId } from './clinic.ts';
import { type Random, seededRandom } from './random.ts';
import { consentFormScenario, receiptScenario, reviewRequestScenario, type Scenario } from './scenarios.ts';

export type Family = 'receipt' | 'consent_form' | 'review_request';

/** The envelope of section 2.1. */
export interface Envelope {
  readonly event: string;
  readonly event_time: number;
  readonly timestamp: number;
  readonly client_id: string;
  readonly business_id: string;
  readonly data: Record<string, unknown>;
}

/** One callback to send. */
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
  readonly start?: number;
  /** Default: generated from the seed. */
  readonly clientId?: string;
  /** One clinic per business. Default: five, generated from the seed. */
  readonly businessIds?: readonly string[];
}

/** 6 January 2025, 09:00 in India. */
export const defaultStart = Date.UTC(2025, 0, 6, 3, 30);

const maxConcurrent = 40;
const opensAt = 3.5 * 3_600_000;
const closesAt = 14.5 * 3_600_000;
const day = 24 * 3_600_000;

type Kind = { family: Family; begin: (random: Random, clinic: Clinic, now: number) => Scenario };
const receipts: Kind = { family: 'receipt', begin: receiptScenario };
const consentForms: Kind = { family: 'consent_form', begin: consentFormScenario };
const reviewRequests: Kind = { family: 'review_request', begin: reviewRequestScenario };
// Weighted by their frequency in a clinic.
const kinds = [receipts, receipts, receipts, receipts, consentForms, consentForms, reviewRequests];

/**
 * An endless, lazy sequence of realistic callbacks of some clinics: receipts created, partly paid and deleted, consent
 * forms and review requests, interleaved. The same options give the same callbacks; no two have the same content, even
 * without their `timestamp`. Other seeds give other businesses.
 */
export function* history(options: HistoryOptions): Generator<Callback, never> {
  const random = seededRandom(options.seed);
  const clientId = options.clientId ?? placeId(random);
  const businessIds = options.businessIds ?? Array.from({ length: 5 }, () => undefined);
  const clinics = businessIds.map((id) => newClinic(random, id));
  const open: { family: Family; clinic: Clinic; scenario: Scenario }[] = [];
  let now = options.start ?? defaultStart;

  for (let number = 0; ; ) {
    // At least a millisecond: updated_at must differ between two versions of a receipt.
    now = toOpeningHours(now + random.between(1, random.chance(0.4) ? 400 : 12_000));
    const begins = open.length === 0 || (open.length < maxConcurrent && random.chance(0.5));
    if (begins) {
      const { family, begin } = random.pick(kinds);
      const clinic = random.pick(clinics);
      open.push({ family, clinic, scenario: begin(random, clinic, now) });
    }
    // Often the newest continues at once: a create and its update within one second are normal.
    const place = begins || random.chance(0.4) ? open.length - 1 : random.between(0, open.length - 1);
    const current = open[place]!;
    const step = current.scenario.next(now);
    if (step.done) {
      removeAt(open, place);
      continue;
    }
    const { event, data } = step.value;
    const envelope: Envelope = {
      event,
      ...timesOf(current.family, now, random),
      client_id: clientId,
      business_id: current.clinic.businessId,
      data,
    };
    yield callbackOf(number++, current.family, envelope);
  }
}

/** Removes an item; the last one takes its place. */
export function removeAt<T>(items: T[], place: number): T {
  const removed = items[place]!;
  items[place] = items.at(-1)!;
  items.pop();
  return removed;
}

export function callbackOf(number: number, family: Family, envelope: Envelope): Callback {
  const { event, business_id: businessId } = envelope;
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
