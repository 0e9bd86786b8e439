import { type Clinic, hexId, newClinic } from './clinic.ts';
import { documentedEvent, type Envelope, type Family } from './families.ts';
import { type Random, removeAt, seededRandom } from './random.ts';
import { scenariosOf } from './scenarios/frequencies.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { spellAsPlatform } from './spelling.ts';

export interface Callback {
  /** Position in the history, from 0. A duplicate has the number of its original. */
  readonly number: number;
  /** The family whose path it is sent to. */
  readonly family: Family;
  readonly event: string;
  readonly businessId: string;
  /** The body, sent and signed as UTF-8. */
  readonly body: string;
  /** The content of the body, in the spelling of the contract. */
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
  /**
   * The present, milliseconds since 1970: once the history has reached it, each event happens in the present, a
   * millisecond or more after the last one. Default: the history goes on into the future.
   */
  readonly present?: (() => number) | undefined;
  /** Default: generated from the seed. */
  readonly clientId?: string;
  /** One clinic per business. Default: five, generated from the seed. */
  readonly businessIds?: readonly string[];
  /**
   * The families of the callbacks. With them, what belongs to a visit or an admission names it. Default: receipts,
   * consent forms and review requests that have nothing to do with each other.
   */
  readonly families?: readonly Family[];
  /** How the bodies are spelled: as in section 2, as the platform really sends them, or each at random. Default: contract. */
  readonly spelling?: Spelling;
}

export const spellings = ['contract', 'platform', 'mixed'] as const;
export type Spelling = (typeof spellings)[number];

/** 6 January 2025, 09:00 in India. */
export const defaultStart = Date.UTC(2025, 0, 6, 3, 30);

const maxConcurrent = 40;
const opensAt = 3.5 * 3_600_000;
const closesAt = 14.5 * 3_600_000;
const day = 24 * 3_600_000;

/**
 * An endless, lazy sequence of realistic callbacks of some clinics, interleaved. The same options give the same
 * callbacks; no two have the same content, even without their `timestamp`. Another spelling gives the same envelopes.
 * Other seeds give other businesses.
 */
export function* history(options: HistoryOptions): Generator<Callback, never> {
  const { present = () => Number.POSITIVE_INFINITY } = options;
  const random = seededRandom(options.seed);
  const spell = spellerOf(options);
  const scenarios = scenariosOf(options.families);
  const clientId = options.clientId ?? hexId(random);
  const businessIds = options.businessIds ?? Array.from({ length: 5 }, () => undefined);
  const clinics = businessIds.map((id) => newClinic(random, id));
  const open: { clinic: Clinic; scenario: Scenario }[] = [];
  let now = options.start ?? defaultStart;

  for (let number = 0; ; ) {
    // At least a millisecond: updated_at must differ between two versions of a receipt.
    const next = toOpeningHours(now + random.between(1, random.chance(0.4) ? 400 : 12_000));
    now = Math.min(next, Math.max(now + 1, present()));
    const begins = open.length === 0 || (open.length < maxConcurrent && random.chance(0.5));
    if (begins) {
      const begin = random.pick(scenarios);
      const clinic = random.pick(clinics);
      open.push({ clinic, scenario: begin(random, clinic, now) });
    }
    // Often the newest continues at once: a create and its update within one second are normal.
    const place = begins || random.chance(0.4) ? open.length - 1 : random.between(0, open.length - 1);
    const current = open[place]!;
    const step = current.scenario.next(now);
    if (step.done) {
      removeAt(open, place);
      continue;
    }
    const { event, data, transactionId } = step.value;
    const { family } = documentedEvent(event);
    if (options.families && !options.families.includes(family)) continue;
    const envelope: Envelope = {
      event,
      ...timesOf(family, now, random),
      client_id: clientId,
      business_id: current.clinic.businessId,
      ...(transactionId !== undefined && { transaction_id: transactionId }),
      data,
    };
    yield callbackOf(number++, envelope, spell(envelope));
  }
}

/** @param sent the envelope as it is spelled in the body */
export function callbackOf(number: number, envelope: Envelope, sent: object = envelope): Callback {
  const { event, business_id: businessId } = envelope;
  const { family } = documentedEvent(event);
  return { number, family, event, businessId, body: JSON.stringify(sent), envelope };
}

/** Spells envelopes as the options say. */
export function spellerOf({
  seed,
  spelling = 'contract',
}: Pick<HistoryOptions, 'seed' | 'spelling'>): (envelope: Envelope) => object {
  // Values of its own: the spelling changes nothing else.
  const random = seededRandom(seed, 2);
  return (envelope) => {
    const asPlatform = spelling === 'platform' || (spelling === 'mixed' && random.chance(0.5));
    return asPlatform ? spellAsPlatform(envelope, random) : envelope;
  };
}

/** The times of an envelope. */
export function timesOf(family: Family, now: number, random: Random) {
  // One family of the platform sends milliseconds and a timestamp of 0, the others whole seconds.
  if (family === 'review_request') return { event_time: now, timestamp: 0 };
  const seconds = Math.floor(now / 1000);
  return { event_time: seconds, timestamp: seconds + random.between(0, 3) };
}

/** When the event happened, milliseconds since 1970. */
export const eventTimeMs = ({ event_time: time }: Pick<Envelope, 'event_time'>): number =>
  time > 1e11 ? time : time * 1000;

// Clinics are open from 09:00 to 20:00 in India.
function toOpeningHours(now: number): number {
  const time = now % day;
  if (time < opensAt) return now - time + opensAt + (time % 60_000);
  return time < closesAt ? now : now - time + day + opensAt + (time % 60_000);
}
