import { z } from 'zod';
import { type Family, isIdentifiedByEnvelope, takesEveryEvent } from './family.ts';
import { eventTimeSchema, idSchema, timeSchema } from './field.ts';

const optionalId = z.string().max(200, 'must have at most 200 characters').nullish();

/**
 * The fields of every callback (service-interface section 2.1), as tolerant as the callbacks differ: some have no client,
 * business or timestamp.
 */
const common = {
  event_time: eventTimeSchema.describe(
    'At most a day ahead of the receiver’s clock or PostgreSQL’s. Where it says nothing (null, empty, before 2000), the time ' +
      'of the record’s change or else timestamp is taken',
  ),
  timestamp: timeSchema.nullish(),
  client_id: optionalId,
  business_id: optionalId,
};

/** The fields of the envelope that cannot identify a patient. */
export const publicEnvelopeFields = new Set([
  'event',
  'event_type',
  'event_time',
  'timestamp',
  'client_id',
  'business_id',
  'service',
  'transaction_id',
  'partition_id',
]);

type Infer<Shape extends z.ZodRawShape> = z.infer<z.ZodObject<Shape>>;

/** The type of a callback of one family. */
export type EnvelopeOf<F extends Pick<Family, 'events' | 'data'>> = Infer<typeof common> & {
  event: F['events'][number];
  data: z.infer<F['data']>;
};

/** The type of a callback of any family of a list: a union discriminated by `event`. */
export type EnvelopeOfAny<List extends readonly Pick<Family, 'events' | 'data'>[]> = {
  [I in keyof List]: EnvelopeOf<List[I]>;
}[number];

/**
 * The schema of a callback: a union over the families, discriminated by `event` (service-interface
 * sections 2 and 6). Unknown fields are accepted, in `data` and beside it.
 */
export function envelopeSchema<const List extends readonly [Family, ...Family[]]>(families: List) {
  const [first, ...rest] = families.filter((family) => !takesEveryEvent(family)).map(envelopeOption);
  const union = z.discriminatedUnion('event', [first!, ...rest]);
  // Mapping over the list loses the types: which events have which data.
  return union as unknown as z.ZodType<EnvelopeOfAny<List>>;
}

function envelopeOption(family: Family) {
  const { identifiedBy, fields } = family;
  const id = isIdentifiedByEnvelope(family) ? { [identifiedBy!]: fields[identifiedBy!]!.schema } : {};
  return z.looseObject({ event: z.enum(family.events as [string]), ...common, ...id, data: family.data });
}

/** The schema of a callback whose event no family lists. */
export const otherEnvelope = z.looseObject({ event: idSchema, ...common, data: z.looseObject({}) });
