import { type Family, patientFields } from '../families/index.ts';

/** What a rejected body says about its patient, as far as it can be read. */
export interface PatientInBody {
  /** Empty if it cannot be read. */
  business: string;
  /** Seconds or milliseconds; null if it cannot be read. */
  eventTime: number | null;
  /** The id of the thing that it is about, as in its column; null if it cannot be read. */
  thing: string | null;
  /** The id of the patient, in the first of the patientFields that it has; null if it cannot be read. */
  patient: string | null;
}

const latestTime = 253_402_300_799_999; // 9999-12-31 in milliseconds

/**
 * Reads the patient of a body that may be no JSON. Nothing is validated: it serves only to recognise what was erased.
 *
 * @param family of the path that received it; undefined: the thing is not read
 */
export function patientInBody(body: Buffer, family?: Family): PatientInBody {
  const text = body.toString();
  const identifiedBy = family?.identifiedBy;
  const fields = readFields(text, [
    ...patientFields,
    'business_id',
    'event_time',
    ...(identifiedBy ? [identifiedBy] : []),
  ]);
  const time = Number(fields.event_time);
  const { business_id = '' } = fields;
  const spelling = patientFields.find((name) => fields[name]);
  return {
    business: business_id,
    eventTime: Math.abs(time) <= latestTime ? time : null,
    thing: (identifiedBy && fields[identifiedBy]) ?? null,
    patient: spelling ? fields[spelling]! : null,
  };
}

function readFields(text: string, names: readonly string[]): Record<string, string> {
  const values = parseFields(text) ?? findFields(text, names);
  const found = names.flatMap((name) => {
    const value = values[name];
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    // PostgreSQL's jsonb has neither U+0000 nor half surrogates.
    return [[name, String(value).slice(0, 200).replaceAll('\0', '').toWellFormed()]];
  });
  return Object.fromEntries(found);
}

/** @returns undefined if the body is no JSON object */
function parseFields(text: string): Record<string, unknown> | undefined {
  try {
    const { data, ...envelope } = JSON.parse(text);
    return { ...(typeof data === 'object' ? data : {}), ...envelope };
  } catch {
    return undefined;
  }
}

/** The text may be cut anywhere. */
function findFields(text: string, names: readonly string[]): Record<string, unknown> {
  const find = (name: string) => {
    const value = `"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.){1,200}"|"?[^",}\\s]{1,200})`;
    return unquote(new RegExp(value).exec(text)?.[1]);
  };
  return Object.fromEntries(names.map((name) => [name, find(name)]));
}

function unquote(value: string | undefined): unknown {
  try {
    return value?.startsWith('"') ? JSON.parse(value) : value;
  } catch {
    return value!.replace(/^"|"$/g, '');
  }
}

const named = new RegExp(
  `"(?:${patientFields.join('|')})"\\s*:\\s*(?:("(?:[^"\\\\]|\\\\.)+")|(-?\\d+))`,
  'g',
);

/** The ids of all patients that a body names anywhere; it need not be valid JSON. */
export function patientsNamedIn(body: Buffer): string[] {
  const ids = Array.from(body.toString().matchAll(named), ([, quoted, number]) =>
    String(unquote(quoted) ?? number),
  );
  // PostgreSQL's text cannot hold U+0000.
  return [...new Set(ids.map((id) => id.replaceAll('\0', '')))];
}
