import { z } from 'zod';
import { Decimal } from '../receiver/intake/decimal.ts';
import { latestMs, saysNothing } from './event-time.ts';
import { isIsoTime } from './iso-time.ts';

/**
 * A documented field of a family's `data`: its schema, and the SQL that reads it into a column.
 *
 * `json` is its type in `jsonb_to_record`; `column` converts that to the column's value.
 */
export interface Field<Schema extends z.ZodType = z.ZodType> {
  schema: Schema;
  json: 'text' | 'numeric' | 'jsonb';
  column: (value: string) => string;
  /** A value that fits the documentation. `id`: a whole number of 15 digits, for those that identify a record. */
  sample: (id: number) => unknown;
  /** Another name that some callbacks have for it. */
  alias?: string;
  /** SQL that reads it as text from an envelope, for a field that is not in `data`. */
  fromEnvelope?: (envelope: string) => string;
  /** Documented as a field that may be missing, so that its absence is no drift. */
  optional?: true;
  /** `false`: it cannot identify a patient. The console redacts every field without this mark. */
  personal?: false;
  /** The known values of a short text without personal data. Other values are valid, and counted as drift. */
  knownValues?: readonly string[];
  /** What they mean to people. */
  meanings?: Readonly<Record<string, string>>;
}

const earliest = -62_135_596_800; // 0001-01-01 in seconds

// A message that begins with `expected` is completed with what was received, see src/receiver/intake/explain.ts.
const whole = `a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`;

/** Whether it is a whole number that a double cannot represent, or another Decimal. */
const isBeyondDouble = (value: unknown) =>
  value instanceof Decimal || (Number.isInteger(value) && !Number.isSafeInteger(value));

const wholeFault = {
  error: ({ input }: { input?: unknown }) =>
    isBeyondDouble(input) ? `must be ${whole}` : 'expected a whole number',
};

/** A whole number that is no Decimal. */
export const wholeNumber = z.int(wholeFault);

const timeFault = {
  error: ({ input }: { input?: unknown }) => {
    if (isBeyondDouble(input)) return `must be ${whole}`;
    if (!Number.isInteger(input))
      return 'expected a time (seconds, milliseconds, or ISO 8601 with an offset)';
    return (input as number) < 0 ? 'must not be before the year 1' : 'must not be after the year 9999';
  },
};

/** Seconds, milliseconds above 1e11 (service-interface section 2.1 leaves the unit open), or ISO 8601 with an offset. */
export const timeSchema = z.union(
  // For a value of the right type, a union has the fault of that option.
  [wholeNumber.min(earliest, timeFault).max(latestMs, timeFault), z.string().refine(isIsoTime, timeFault)],
  timeFault,
);

/** The same, or what says nothing: null, blank text, what lies before 2000. */
export const eventTimeSchema = z.union(
  [
    wholeNumber.max(latestMs, timeFault),
    z.string().refine((value) => isIsoTime(value) || saysNothing(value), timeFault),
    z.null(),
  ],
  timeFault,
);

/** A text that is part of an index, so that its length is limited. */
export const idSchema = z.string().min(1, 'must not be empty').max(200, 'must have at most 200 characters');

const asIs = (value: string) => value;

/** Marks a field that cannot identify a patient, such as the id of a clinic. */
export const notPersonal = <F extends Field>(field: F) => ({ ...field, personal: false }) satisfies Field;

/** Marks a field that is documented as one that may be missing. */
export const optional = <F extends Field>(field: F) => ({ ...field, optional: true }) satisfies Field;

/** A string, stored as received. */
export const text = {
  schema: z.string().nullish(),
  json: 'text',
  column: asIs,
  sample: () => 'sample',
} satisfies Field;

/** A short text without personal data, whose values are not documented. */
export const code = (...knownValues: string[]) =>
  ({ ...notPersonal(text), knownValues, sample: () => knownValues[0] }) satisfies Field;

/** The same, with what each value means. */
export const codes = (meanings: Readonly<Record<string, string>>) =>
  ({ ...code(...Object.keys(meanings)), meanings }) satisfies Field;

/** A number, stored with all its digits: PostgreSQL parses the JSON text. */
export const amount = {
  schema: z
    .preprocess((value) => (value instanceof Decimal ? Number(value.canonical) : value), z.number())
    .nullish(),
  json: 'numeric',
  column: asIs,
  personal: false,
  sample: () => 1,
} satisfies Field;

/** A whole number. */
export const integer = {
  schema: wholeNumber.nullish(),
  json: 'numeric',
  column: (value) => `${value}::bigint`,
  personal: false,
  sample: () => 1,
} satisfies Field;

/** A time, see `timeSchema`. */
export const time = {
  schema: timeSchema.nullish(),
  json: 'jsonb',
  column: (value) => `callback_time(${value})`,
  personal: false,
  sample: () => 1_700_000_000,
} satisfies Field;

const isBlank = (value: unknown) => typeof value === 'string' && value.trim() === '';

/** When something was done to the record. 0, a blank text, and what lies before 2000 or after its event say nothing: `said_time`. */
export const saidTime = {
  ...time,
  schema: z.preprocess((value) => (isBlank(value) ? null : value), timeSchema.nullish()),
} satisfies Field;

/** A field of undocumented type, stored as text. */
export const untyped = {
  schema: z.unknown().optional(),
  json: 'text',
  column: asIs,
  sample: () => 'sample',
} satisfies Field;

/** An object or a list, stored as JSON: its content is not documented, or no report needs it as columns. */
export const nested = {
  schema: z.unknown().optional(),
  json: 'jsonb',
  column: asIs,
  sample: () => ({}),
} satisfies Field;

/** A name: a text, or an object with `salutation`, `first_name` and `last_name`. */
export const personName = {
  schema: z.union([z.string(), z.looseObject({})], 'expected a name (text or an object)').nullish(),
  json: 'jsonb',
  column: (value) => `person_name(${value})`,
  sample: () => 'sample',
} satisfies Field;

/** A whole number that identifies the record, also as digits in quotes. */
export const integerId = {
  ...integer,
  schema: z.union([wholeNumber, z.string().regex(/^\d{1,15}$/, wholeFault)], wholeFault),
  sample: (id) => id,
} satisfies Field;

/** A string that identifies the record. */
export const textId = { ...text, schema: idSchema, sample: (id) => `sample-${id}` } satisfies Field;
