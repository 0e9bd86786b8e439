import { Decimal } from '../exact-json.ts';
import { isAfterEvent, isStorableTime, plainTime, readTime } from '../times.ts';

/** A value that does not fit its column goes to `extra` under its name. */
export const unfit: unique symbol = Symbol('unfit');
/** The key of a value without meaning is dropped. */
export const absent: unique symbol = Symbol('absent');

interface Kind {
  column: 'text' | 'bigint' | 'numeric' | 'timestamptz' | 'jsonb';
  /** SQL for the column's value. @param data SQL of merged data @param key a literal */
  select: (data: string, key: string) => string;
  /** The value as it is merged, the same object where it fits; or `unfit`. */
  read: (value: unknown) => unknown;
}

export const isContainer = (value: unknown): value is object =>
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
  return text && idFault(text) === undefined ? text : undefined;
}

function longNumber(value: unknown): string | undefined {
  if (value instanceof Decimal) return value.plain();
  return typeof value === 'number' && Number.isInteger(value) ? String(BigInt(value)) : undefined;
}

const maxIdLength = 200;
const invisible = /[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}]/u;
export const withoutInvisible = (text: string): string => text.replace(new RegExp(invisible, 'gu'), '');

export const isIdType = (value: unknown) => typeof value === 'string' || isNumber(value);

/** Why a value is no id. An id that looks like another would make a second record, or a second business. */
export function idFault(value: unknown): string | undefined {
  if (!isIdType(value)) return 'expected text';
  const text = String(value);
  if (text.length > maxIdLength) return `must have at most ${maxIdLength} characters`;
  // Nearly every id: a class of Unicode takes as long as all else of it.
  const [character] = /^[!-~]*$/.test(text) ? [] : (invisible.exec(text) ?? []);
  return (
    character && `must not contain U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
  );
}

export const kinds = {
  text: {
    column: 'text',
    select: (data, key) => `${data}->>${key}`,
    read: (value) => (value === null || typeof value === 'string' || isNumber(value) ? value : unfit),
  },
  /** Unless it may be personal, no object or list. */
  untyped: { column: 'text', select: (data, key) => `${data}->>${key}`, read: (value) => value },
  integer: {
    column: 'bigint',
    select: (data, key) => `(${data}->>${key})::numeric::bigint`,
    read: (value) =>
      value === null || isBlank(value) ? null : wholeNumber(value) === undefined ? unfit : value,
  },
  amount: {
    column: 'numeric',
    select: (data, key) => `(${data}->>${key})::numeric`,
    read: (value) => {
      if (value === null || isBlank(value)) return null;
      const isNumeric = isNumber(value) || (typeof value === 'string' && number.test(value));
      return isNumeric && isAmount(value) ? value : unfit;
    },
  },
  time: {
    column: 'timestamptz',
    select: (data, key) => `receiver.time_of(${data}->${key})`,
    read: (value) => {
      if (isBlank(value)) return null;
      if (!isStorableTime(value)) return unfit;
      return typeof value === 'string' ? plainTime(value) : value;
    },
  },
  name: {
    column: 'text',
    select: (data, key) => `receiver.name_of(${data}->${key})`,
    read: (value) => {
      const isObject = isContainer(value) && !Array.isArray(value);
      return value === null || typeof value === 'string' || isObject ? value : unfit;
    },
  },
  /** Its content is not documented, or not needed as columns. */
  nested: {
    column: 'jsonb',
    select: (data, key) => `nullif(${data}->${key}, 'null')`,
    read: (value) => value,
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;

/** The types of values in callbacks. */
export interface ValueOf extends Record<'text' | 'integer' | 'amount' | 'time', string | number> {
  name: string | { salutation?: unknown; first_name?: unknown; last_name?: unknown };
  untyped: unknown;
  nested: unknown;
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
  /** The family of the record that it is the id of. */
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

/** The value as it is merged, `unfit` or `absent`. @param eventMs milliseconds since 1970 */
export function readField(field: Field, value: unknown, eventMs: number): unknown {
  const { kind, isActionTime, personal } = field;
  if (isActionTime) {
    const ms = readTime(value);
    const isAfter = ms != null && isActionTime !== 'planned' && isAfterEvent(ms, eventMs);
    // Null is a value: it takes an earlier time away.
    if (value !== null && (ms === null || isAfter)) return absent;
  }
  // Its content may be anything.
  if (kind === 'untyped' && personal === false && isContainer(value)) return unfit;
  return kinds[kind].read(value);
}
