import { z } from 'zod';
import { Decimal } from '../decimal.ts';

/**
 * One documented field of a family's `data`: what it accepts, and how SQL reads it into a column.
 *
 * `json` is its type while PostgreSQL unpacks the JSON, `column` turns that into the column's value.
 */
export interface Field<Schema extends z.ZodType = z.ZodType> {
  schema: Schema;
  json: 'text' | 'numeric';
  column: (value: string) => string;
  /** `false`: it cannot identify a patient. The console redacts every field without this mark. */
  personal?: false;
  /** Of a short text that is no personal data: the values seen so far. Others are values too, but counted. */
  knownValues?: readonly string[];
}

const earliest = -62_135_596_800; // 0001-01-01 in seconds
const latest = 253_402_300_799_999; // 9999-12-31 in milliseconds

/** A number that stands for itself in JavaScript too, which a Decimal does not. */
export const wholeNumber = z.int({
  error: ({ input }) =>
    input instanceof Decimal
      ? `must be a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`
      : undefined,
});

/** Seconds, or milliseconds above 1e11 (service-interface section 2.1 leaves the unit open). */
export const timeSchema = wholeNumber
  .min(earliest, 'must not lie before the year 1')
  .max(latest, 'must not lie after the year 9999');

const asIs = (value: string) => value;

/** Marks a field that cannot identify a patient, such as the id of a clinic. */
export const notPersonal = <F extends Field>(field: F) => ({ ...field, personal: false }) satisfies Field;

/** A string, kept as it came. */
export const text = { schema: z.string().nullish(), json: 'text', column: asIs } satisfies Field;

/** A short text without personal data, whose values are not documented. */
export const code = (...knownValues: string[]) => ({ ...notPersonal(text), knownValues }) satisfies Field;

/** A number, kept to its last digit: PostgreSQL reads it as it was written. */
export const amount = {
  schema: z
    .preprocess((value) => (value instanceof Decimal ? Number(value.canonical) : value), z.number())
    .nullish(),
  json: 'numeric',
  column: asIs,
  personal: false,
} satisfies Field;

/** A whole number. */
export const integer = {
  schema: wholeNumber.nullish(),
  json: 'numeric',
  column: (value) => `${value}::bigint`,
  personal: false,
} satisfies Field;

/** A time as a whole number, see `timeSchema`. */
export const time = {
  schema: timeSchema.nullish(),
  json: 'numeric',
  column: (value) => `service_time(${value})`,
  personal: false,
} satisfies Field;

/** A field whose type the interface does not show; a column of text holds whatever it is. */
export const untyped = { schema: z.unknown().optional(), json: 'text', column: asIs } satisfies Field;

/** A whole number that identifies the thing. */
export const integerId = { ...integer, schema: wholeNumber } satisfies Field;

/** A string that identifies the thing; its length is bounded because an index has to hold it. */
export const textId = { ...text, schema: z.string().min(1).max(200) } satisfies Field;
