import { z } from 'zod';
import { Decimal } from '../exact-json.ts';
import { isAfterEvent, isStorableTime, readTime } from '../times.ts';

interface Kind {
  column: 'text' | 'bigint' | 'numeric' | 'timestamptz' | 'jsonb';
  /** SQL for the column's value. @param data SQL of merged data @param key a literal */
  select: (data: string, key: string) => string;
  /** The values that fit the column; its output is what is merged. */
  schema: z.ZodType;
}

export const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !(value instanceof Decimal);
const isBlank = (value: unknown) => typeof value === 'string' && value.trim() === '';
const isNumber = (value: unknown) => typeof value === 'number' || value instanceof Decimal;
// The spaces that PostgreSQL takes: JavaScript's \s has more.
const number = /^[ \t-\r]*-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,2})?[ \t-\r]*$/;
const digits = /^[ \t-\r]*-?\d{1,30}[ \t-\r]*$/;
const minBigint = -(2n ** 63n);
const maxBigint = 2n ** 63n - 1n;

/** A sum with any other number would be useless. */
function isAmount(value: unknown): boolean {
  if (!isNumber(value) && !(typeof value === 'string' && number.test(value))) return false;
  const size = Math.abs(Number(value instanceof Decimal ? value.canonical : value));
  const isShort = typeof value === 'number' || String(value).length <= 60;
  return isShort && (size === 0 || (size >= 1e-30 && size <= 1e12));
}

/** A whole number that fits a bigint, from a number or digits in quotes. */
export function wholeNumber(value: unknown): bigint | undefined {
  const text = value instanceof Decimal ? value.plain() : typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !digits.test(text)) return undefined;
  const whole = BigInt(text);
  return whole >= minBigint && whole <= maxBigint ? whole : undefined;
}

/** The canonical text of the key of a record: `7`, not `07`; undefined: it cannot be a key. */
export function keyText({ kind }: { kind: KindName }, value: unknown): string | undefined {
  if (kind === 'integer') return wholeNumber(value)?.toString();
  const text = typeof value === 'string' ? value : longNumber(value);
  return text?.trim() && isId(text) ? text : undefined;
}

function longNumber(value: unknown): string | undefined {
  if (value instanceof Decimal) return value.plain();
  return typeof value === 'number' && Number.isInteger(value) ? String(BigInt(value)) : undefined;
}

export const isIdType = (value: unknown): value is Numeric => typeof value === 'string' || isNumber(value);
export const isId = (value: unknown): boolean => isIdType(value) && String(value).length <= 200;

/** In front of the name of an unfit value in data. */
export const unfitMark = '\u0001';

/** Also digits in quotes. */
export type Numeric = number | string | Decimal;
type PersonName = string | { salutation?: unknown; first_name?: unknown; last_name?: unknown };

/** Null is a value of every kind. */
const schema = <Value>(fits: (value: unknown) => boolean) =>
  z.custom<Value | null>((value) => value === null || fits(value));
const blankAsNull = (value: Numeric | null) => (isBlank(value) ? null : value);

export const kinds = {
  text: {
    column: 'text',
    select: (data, key) => `${data}->>${key}`,
    schema: schema<Numeric>(isIdType),
  },
  /** Unless it may be personal, no object or list. */
  untyped: { column: 'text', select: (data, key) => `${data}->>${key}`, schema: z.unknown() },
  integer: {
    column: 'bigint',
    select: (data, key) => `(${data}->>${key})::numeric::bigint`,
    schema: schema<Numeric>((value) => isBlank(value) || wholeNumber(value) !== undefined).overwrite(
      blankAsNull,
    ),
  },
  amount: {
    column: 'numeric',
    select: (data, key) => `(${data}->>${key})::numeric`,
    schema: schema<Numeric>((value) => isBlank(value) || isAmount(value)).overwrite(blankAsNull),
  },
  time: {
    column: 'timestamptz',
    select: (data, key) => `receiver.time_of(${data}->${key})`,
    schema: schema<Numeric>(isStorableTime).overwrite(blankAsNull),
  },
  name: {
    column: 'text',
    select: (data, key) => `receiver.name_of(${data}->${key})`,
    schema: schema<PersonName>(
      (value) => typeof value === 'string' || (isContainer(value) && !Array.isArray(value)),
    ),
  },
  /** Its content is not documented, or not needed as columns. */
  nested: {
    column: 'jsonb',
    select: (data, key) => `nullif(${data}->${key}, 'null')`,
    schema: z.unknown(),
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;

export type ValueOf<K extends KindName> = z.infer<(typeof kinds)[K]['schema']>;

// Times without meaning fit too: they are dropped once the time of the event is known.
const actionTimeSchema = schema<Numeric>((value) => readTime(value) !== undefined);
const scalarSchema = z.custom<unknown>((value) => !isContainer(value));

export function schemaOf({ kind, isActionTime, personal }: Field): z.ZodType {
  if (isActionTime) return actionTimeSchema;
  return kind === 'untyped' && personal === false ? scalarSchema : kinds[kind].schema;
}

export interface Field<K extends KindName = KindName> {
  kind: K;
  /** When something was done: 0, a blank, a time before 2000 or, unless it is planned, after the event counts as absent. */
  isActionTime?: true | 'planned';
  alias?: string;
  /** For a field that is not in `data`. */
  fromEnvelope?: (envelope: { transaction_id?: unknown }) => string | undefined;
  /** It may be missing, by its documentation: its absence is no drift. */
  optional?: true;
  /** `false`: it cannot identify a patient. Every other field is redacted and erased. */
  personal?: false;
  refersTo?: string;
  /** The known values of a short text, with what they mean. Others are valid, and counted as drift. */
  meanings?: Readonly<Record<string, string>>;
  /** An example of its value; default: see sample.ts. */
  sample?: string;
  /** What people call it, without a label of its family. */
  label?: string;
}

export const text = { kind: 'text' } satisfies Field;
export const untyped = { kind: 'untyped' } satisfies Field;
export const nested = { kind: 'nested' } satisfies Field;
export const personName = { kind: 'name' } satisfies Field;
export const amount = { kind: 'amount', personal: false } satisfies Field;
export const integer = { kind: 'integer', personal: false } satisfies Field;
export const time = { kind: 'time', personal: false } satisfies Field;
export const actionTime = { ...time, isActionTime: true } satisfies Field;
export const plannedTime = { ...time, isActionTime: 'planned' } satisfies Field;
export const notPersonal = <F extends Field>(field: F) => ({ ...field, personal: false }) satisfies Field;
export const optional = <F extends Field>(field: F) => ({ ...field, optional: true }) satisfies Field;
export const idOf = (family: string) => ({ ...notPersonal(text), refersTo: family }) satisfies Field;

// All callbacks of a visit have these in common.
export const patientId = { ...text, sample: 'patient-1', label: 'Patient id' } satisfies Field;
export const patientName = { ...text, sample: 'patient_name-1', label: 'Patient' } satisfies Field;
export const patientPhone = { ...text, sample: 'patient_phone-1', label: 'Phone' } satisfies Field;
export const doctorId = { ...notPersonal(text), sample: 'doctor-1', label: 'Doctor' } satisfies Field;
export const clinicId = { ...notPersonal(text), sample: 'clinic-1', label: 'Clinic' } satisfies Field;
export const businessId = { ...notPersonal(text), sample: 'business-1' } satisfies Field;

/** Short texts without personal data. */
export const codes = (meanings: Readonly<Record<string, string>>) =>
  ({ ...notPersonal(text), meanings }) satisfies Field;

export const code = (...values: string[]) => codes(Object.fromEntries(values.map((value) => [value, value])));

/** Whether a time of an action says nothing about it. @param eventMs milliseconds since 1970 */
export function isMeaningless({ isActionTime }: Field, value: unknown, eventMs: number): boolean {
  // Null is a value: it takes an earlier time away.
  if (!isActionTime || value == null) return false;
  const ms = readTime(value);
  return ms === null || (ms !== undefined && isActionTime !== 'planned' && isAfterEvent(ms, eventMs));
}
