import { z } from 'zod';
import { type Family, isKeyedByEnvelope, keyFieldOf, takesEveryEvent } from './families/family.ts';
import { type Field, idFault, isIdType, keyText, type ValueOf } from './families/field.ts';
import type { families as documented } from './families/index.ts';

// Messages that begin with `expected` are completed with what was received, see parse.ts.

function keyFault({ kind }: Field, input: unknown): string | undefined {
  const fault = idFault(input);
  if (kind !== 'integer') return input === '' ? 'must not be empty' : (fault ?? 'expected text');
  if (typeof input === 'string' && fault) return fault;
  return isIdType(input)
    ? 'must be a whole number from -9223372036854775808 to 9223372036854775807'
    : 'expected a whole number';
}

const keySchema = (field: Field) =>
  z.custom<number | string>((value) => keyText(field, value) !== undefined, {
    error: ({ input }) => keyFault(field, input),
  });

const ownId = z
  .custom<string | number>((value) => !idFault(value), { error: ({ input }) => idFault(input) })
  .nullish();

// Section 2.1 of service-interface, as tolerant as callbacks differ.
const envelope = {
  event_time: z.custom<number | string>(
    isIdType,
    'expected a time (seconds, milliseconds, or ISO 8601 with an offset)',
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
type ValuesOf<F extends Fields> = {
  [K in keyof F as F[K] extends { fromEnvelope: unknown } ? never : K]: ValueOf[F[K]['kind']];
};
type DataOf<F extends Fields, Key> = { [K in keyof ValuesOf<F>]?: ValuesOf<F>[K] | null } & Pick<
  ValuesOf<F>,
  Key & keyof ValuesOf<F>
> & { [unknown: string]: unknown };

export type CallbackOf<F> =
  F extends Family<string, infer E, infer Fs, infer Key>
    ? Envelope & { event: keyof E & string; data: DataOf<Fs, Key> }
    : never;

/** A union discriminated by `event`. */
type CallbackOfAny<List extends readonly unknown[]> = {
  [I in keyof List]: CallbackOf<List[I]>;
}[number];

/** A callback (service-interface section 2). */
export type Callback = CallbackOfAny<typeof documented>;

export interface AnyCallback extends Envelope {
  event: string;
  data: Record<string, unknown>;
}

function optionOf(family: Family) {
  const { key = '', events } = family;
  const field = keyFieldOf(family);
  const required = field ? { [key]: keySchema(field) } : {};
  const [around, inside] = isKeyedByEnvelope(family) ? [required, {}] : [{}, required];
  const data = z.looseObject(inside);
  return z.looseObject({
    event: z.enum(Object.keys(events)),
    ...envelope,
    ...around,
    data: field?.alias ? renamed(data, key, field.alias) : data,
  });
}

const renamed = (data: z.ZodType, name: string, alias: string) =>
  z.preprocess((value) => {
    if (typeof value !== 'object' || value === null) return value;
    const members: Record<string, unknown> = { ...value };
    return { ...members, [name]: members[name] ?? members[alias] };
  }, data);

/** Requires what identifies the record (service-interface sections 2 and 6); `readField` reads all other fields. */
export function callbackSchema<const List extends readonly Family[]>(
  families: List,
): z.ZodType<CallbackOfAny<List>> {
  const [first, ...rest] = families.filter((family) => !takesEveryEvent(family)).map(optionOf);
  // Mapping over the list loses which events have which data.
  return z.discriminatedUnion('event', [first!, ...rest]) as unknown as z.ZodType<CallbackOfAny<List>>;
}

/** For events that no family lists. */
export const otherSchema = z.looseObject({
  event: z.string().min(1, 'must not be empty').max(200, 'must have at most 200 characters'),
  ...envelope,
  data: z.looseObject({}),
});
