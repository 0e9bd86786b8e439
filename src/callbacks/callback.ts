import { z } from 'zod';
import { aliasesOf, type Family, isKeyedByEnvelope, keyFieldOf, takesEveryEvent } from './families/family.ts';
import {
  type Field,
  isId,
  isIdType,
  keyText,
  type Numeric,
  schemaOf,
  type ValueOf,
} from './families/field.ts';
import type { families as documented } from './families/index.ts';

// Messages name no value: they are answers to a sender.

const keyFaults = {
  text: 'must be text of 1 to 200 characters',
  integer: 'must be a whole number from -9223372036854775808 to 9223372036854775807',
};

const keySchema = (field: Field) =>
  z.custom<Numeric>((value) => keyText(field, value) !== undefined, {
    error: ({ input }) => {
      if (input === undefined) return 'is required';
      return field.kind === 'integer' ? keyFaults.integer : keyFaults.text;
    },
  });

const ownId = z.custom<Numeric>(isId, 'must be text of at most 200 characters').nullish();

// Section 2.1 of service-interface, as tolerant as callbacks differ.
const envelope = {
  event_time: z.custom<Numeric>(
    isIdType,
    'must be a time: seconds, milliseconds, or ISO 8601 with an offset',
  ),
  timestamp: z.unknown().optional(),
  client_id: ownId,
  business_id: ownId,
  transaction_id: z.unknown().optional(),
  partition_id: z.unknown().optional(),
};

const publicNames = 'event event_type service event_time timestamp client_id business_id'.split(' ');
/** The members that cannot identify a patient. */
export const publicMembers: ReadonlySet<string> = new Set(publicNames);
/** The documented members, with their other names. */
export const envelopeMembers: ReadonlySet<string> = new Set([
  ...publicNames,
  'data',
  ...Object.keys(envelope),
]);

type Envelope = z.infer<z.ZodObject<typeof envelope>>;
type Fields = Readonly<Record<string, Field>>;
/** Without an index signature: the compiler knows the names of the fields. */
type DataOf<F extends Fields, Key> = {
  [K in keyof F as F[K] extends { fromEnvelope: unknown } ? never : Exclude<K, Key>]?: ValueOf<F[K]['kind']>;
} & { [K in Key & keyof F as F[K] extends { fromEnvelope: unknown } ? never : K]: Numeric };

export type CallbackOf<F> =
  F extends Family<string, infer E, infer Fs, infer Key>
    ? Envelope & { event: keyof E & string; data: DataOf<Fs, Key> }
    : never;

/** A callback (service-interface section 2): a union discriminated by `event`. */
export type Callback = CallbackOf<(typeof documented)[number]>;

export interface AnyCallback extends Envelope {
  event: string;
  data: Readonly<Record<string, unknown>>;
}

function optionOf(family: Family) {
  const { key = '', fields, events } = family;
  const keyField = keyFieldOf(family);
  const required = keyField ? { [key]: keySchema(keyField) } : {};
  const [around, inside] = isKeyedByEnvelope(family) ? [required, {}] : [{}, required];
  const schemas = Object.entries(fields).map(([name, field]) => [name, schemaOf(field).optional()]);
  return z.looseObject({
    event: z.enum(Object.keys(events)),
    ...envelope,
    ...around,
    data: z.looseObject({ ...Object.fromEntries(schemas), ...inside }),
  });
}

/** The union of families' callbacks, by `event`: each documented field with its schema (service-interface sections 2 and 6). */
export function callbackSchema(families: readonly Family[]): z.ZodType<AnyCallback> {
  const [first, ...rest] = families.filter((family) => !takesEveryEvent(family)).map(optionOf);
  return z.discriminatedUnion('event', [first!, ...rest]);
}

/** `data` with the documented names of its fields; where it has both, the documented one wins unless it is null. */
export function withoutAliases(data: Readonly<Record<string, unknown>>, family: Family) {
  let renamed = data;
  for (const [alias, name] of aliasesOf(family)) {
    if (!Object.hasOwn(renamed, alias)) continue;
    const { [alias]: value, ...others } = renamed;
    renamed = { ...others, [name]: others[name] ?? value };
  }
  return renamed;
}

/** For events that no family lists. */
export const otherSchema = z.looseObject({
  event: z.string().min(1, 'must not be empty').max(200, 'must have at most 200 characters'),
  ...envelope,
  data: z.looseObject({}),
});
