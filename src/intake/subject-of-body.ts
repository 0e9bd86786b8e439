import { findEventTime, latestMs, saysNothing } from '../families/event-time.ts';
import {
  admissionOf,
  type Family,
  patientFields,
  patientKeys,
  patientsIn,
  publicEnvelopeFields,
} from '../families/index.ts';
import { isIsoTime } from '../families/iso-time.ts';
import { withDecimals } from '../receiver/intake/decimal.ts';
import { integerOf } from './decimals.ts';

/**
 * Reads what a body is about, which may be no JSON. Nothing is validated: it serves only to recognise what was erased.
 *
 * @param sentTo the family of the path that received it, unless its event says another
 * @returns as far as they can be read, otherwise empty or null: the family and the id of the thing, as in the function
 *   thing_of, the business, the event time, see findEventTime, and the patient, in the first of the patientFields that it has
 */
export function subjectOfBody(body: Buffer, families: readonly Family[], sentTo?: Family) {
  const text = body.toString();
  const find = parseFields(text) ?? ((name: string) => findField(text, name));
  const fields = readFields(find);
  const event = fields('event') ?? fields('event_type') ?? '';
  const family = families.find(({ events }) => events.includes(event)) ?? sentTo;
  const time = readTime(find('event_time'));
  const timed = { event, timestamp: readTime(find('timestamp')), data: timesOf(family, find) };
  return {
    family: family?.partOf ?? family?.name ?? '',
    business: fields('business_id') ?? '',
    eventTime: (saysNothing(time) ? findEventTime(timed, family) : time) ?? null,
    thing: (family && thingIn(family, fields)) ?? null,
    patient: patientFields.map(fields).find(Boolean) ?? null,
  };
}

/** A delivery about the same, which the function refused_deliveries can read. */
export function envelopeOf(
  { family, business, eventTime, thing, patient }: ReturnType<typeof subjectOfBody>,
  families: readonly Family[],
) {
  const { fields = {}, identifiedBy } = families.find(({ name }) => name === family) ?? {};
  // Any other text would be no number.
  const isReadable =
    thing !== null && (fields[identifiedBy!]?.json !== 'numeric' || /^\d{1,15}$/.test(thing));
  const id = identifiedBy && isReadable ? { [identifiedBy]: thing } : {};
  return { business_id: business, event_time: eventTime, data: { patient_id: patient, ...id } };
}

/** A time as a number or in ISO 8601; null where it says nothing; undefined: it is none. */
function readTime(value: unknown): number | string | null | undefined {
  if (saysNothing(value)) return null;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  if (Math.abs(Number(value)) <= latestMs) return Number(value);
  return typeof value === 'string' && isIsoTime(value) ? value : undefined;
}

const timesOf = (family: Family | undefined, find: (name: string) => unknown) =>
  Object.fromEntries(
    ['created_at', family?.orderedBy ?? []].flat().map((name) => [name, readTime(find(name))]),
  );

type ReadField = (name: string) => string | undefined;

function thingIn({ fields, identifiedBy, partOf }: Family, read: ReadField): string | undefined {
  if (partOf) return admissionOf(read('transaction_id') ?? '');
  if (!identifiedBy) return undefined;
  const { alias } = fields[identifiedBy]!;
  return read(identifiedBy) ?? (alias ? read(alias) : undefined);
}

function readFields(find: (name: string) => unknown): ReadField {
  return (name) => {
    const value = find(name);
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    // PostgreSQL's jsonb has neither U+0000 nor half surrogates.
    return String(value).slice(0, 200).replaceAll('\0', '').toWellFormed();
  };
}

/** @returns undefined if the body is no JSON object */
function parseFields(text: string): ((name: string) => unknown) | undefined {
  try {
    const { data, ...envelope } = JSON.parse(text);
    const fields: Record<string, unknown> = { ...(typeof data === 'object' ? data : {}), ...envelope };
    return (name) => (publicEnvelopeFields.has(name) ? envelope : fields)[name];
  } catch {
    return undefined;
  }
}

/** The text may be cut anywhere. */
function findField(text: string, name: string): unknown {
  const value = `"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.){1,200}"|"?[^",}\\s]{1,200})`;
  return unquote(new RegExp(value).exec(text)?.[1]);
}

function unquote(value: string | undefined): unknown {
  try {
    return value?.startsWith('"') ? JSON.parse(value) : value;
  } catch {
    return value!.replace(/^"|"$/g, '');
  }
}

/** A key of a patient with its value, in text that may be cut anywhere. */
const named = new RegExp(
  `"(?:${patientKeys.map((key) => [...key.replaceAll('_', '')].join('[-_. ]*')).join('|')})"\\s*:\\s*(?:("(?:[^"\\\\]|\\\\.)+")|(-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?))`,
  'gi',
);

/** The ids of all patients that a body names anywhere; it need not be valid JSON. */
export function patientsNamedIn(body: Buffer): string[] {
  const json = body.toString();
  let ids: string[];
  try {
    ids = patientsIn(withDecimals(json, JSON.parse(json)));
  } catch {
    ids = Array.from(json.matchAll(named), ([, quoted, number]) =>
      String(unquote(quoted) ?? integerOf(number!)).trim(),
    );
  }
  // PostgreSQL's text has neither U+0000 nor half surrogates.
  return [...new Set(ids.map((id) => id.replaceAll('\0', '').toWellFormed()))].filter(Boolean);
}
