import { type Clinic, newClinic, placeId } from './clinic.ts';
import { type Random, seededRandom } from './random.ts';
import { consentFormStory, receiptStory, reviewRequestStory, type Story } from './stories.ts';

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
  /** Place in the history, from 0. A duplicate has the number of what it repeats. */
  readonly number: number;
  /** Whose path it is sent to. */
  readonly family: Family;
  readonly event: string;
  readonly businessId: string;
  /** The body; its UTF-8 bytes are what is sent and signed. */
  readonly body: string;
  readonly envelope: Envelope;
  /** Set on a deliberate duplicate: the same bytes again, or the same but for `timestamp`. */
  readonly duplicate?: 'same bytes' | 'new timestamp';
  /** Set on a deliberately broken one: what is wrong with it. */
  readonly broken?: string;
}

export interface HistoryOptions {
  readonly seed: number;
  /** When the history begins, milliseconds since 1970. Default: defaultStart, whatever the day is. */
  readonly start?: number;
  /** Default: one made from the seed. */
  readonly clientId?: string;
  /** The clinics' businesses. Default: five made from the seed. */
  readonly businessIds?: readonly string[];
}

/** 9 o'clock in India on 6 January 2025. */
export const defaultStart = Date.UTC(2025, 0, 6, 3, 30);

const openStories = 40;
const opensAt = 3.5 * 3_600_000;
const closesAt = 14.5 * 3_600_000;
const day = 24 * 3_600_000;

type Beginning = { family: Family; begin: (random: Random, clinic: Clinic, now: number) => Story };
const receipts: Beginning = { family: 'receipt', begin: receiptStory };
const consentForms: Beginning = { family: 'consent_form', begin: consentFormStory };
const reviewRequests: Beginning = { family: 'review_request', begin: reviewRequestStory };
// As often as they happen in a clinic.
const beginnings = [receipts, receipts, receipts, receipts, consentForms, consentForms, reviewRequests];

/**
 * The days of some clinics, without end and lazily: receipts created, partly paid, deleted, consent forms,
 * review requests, interleaved, with values as real ones are. The same options give the same callbacks; no
 * two have the same content, even without their `timestamp`. Other seeds are other businesses.
 */
export function* history(options: HistoryOptions): Generator<Callback, never> {
  const random = seededRandom(options.seed);
  const clientId = options.clientId ?? placeId(random);
  const businessIds = options.businessIds ?? Array.from({ length: 5 }, () => undefined);
  const clinics = businessIds.map((id) => newClinic(random, id));
  const open: { family: Family; clinic: Clinic; story: Story }[] = [];
  let now = options.start ?? defaultStart;

  for (let number = 0; ; ) {
    // At least a millisecond: updated_at must tell two versions of a receipt apart.
    now = duringHours(now + random.between(1, random.chance(0.4) ? 400 : 12_000));
    const begins = open.length === 0 || (open.length < openStories && random.chance(0.5));
    if (begins) {
      const { family, begin } = random.pick(beginnings);
      const clinic = random.pick(clinics);
      open.push({ family, clinic, story: begin(random, clinic, now) });
    }
    // Often the newest goes on at once: a create and its update within one second are normal.
    const place = begins || random.chance(0.4) ? open.length - 1 : random.between(0, open.length - 1);
    const current = open[place]!;
    const step = current.story.next(now);
    if (step.done) {
      open[place] = open.at(-1)!;
      open.pop();
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

/** The callback that carries this envelope. */
export function callbackOf(number: number, family: Family, envelope: Envelope): Callback {
  const { event, business_id: businessId } = envelope;
  return { number, family, event, businessId, body: JSON.stringify(envelope), envelope };
}

function timesOf(family: Family, now: number, random: Random) {
  // One family of the platform sends milliseconds and no timestamp, the others whole seconds.
  if (family === 'review_request') return { event_time: now, timestamp: 0 };
  const seconds = Math.floor(now / 1000);
  return { event_time: seconds, timestamp: seconds + random.between(0, 3) };
}

// Clinics are closed from 8 in the evening to 9 in the morning in India.
function duringHours(now: number): number {
  const time = now % day;
  if (time < opensAt) return now - time + opensAt + (time % 60_000);
  return time < closesAt ? now : now - time + day + opensAt + (time % 60_000);
}
