import { z } from 'zod';
import type { Family } from './family.ts';
import { timeSchema, wholeNumber } from './field.ts';

const id = z.string().min(1).max(200);

/** The fields that every callback has (service-interface section 2.1). */
const common = {
  event_time: timeSchema.describe('At most a day ahead of the receiver’s clock'),
  timestamp: wholeNumber,
  client_id: id,
  business_id: id,
};

/** Those of the envelope's fields that cannot identify a patient. */
export const publicEnvelopeFields = new Set(['event', 'event_time', 'timestamp', 'client_id', 'business_id']);

type Infer<Shape extends z.ZodRawShape> = z.infer<z.ZodObject<Shape>>;

/** A callback of one family, as TypeScript sees it. */
export type EnvelopeOf<F extends Pick<Family, 'events' | 'data'>> = Infer<typeof common> & {
  event: F['events'][number];
  data: z.infer<F['data']>;
};

/** A callback of any family of a list: a union that `event` tells apart. */
export type EnvelopeOfAny<List extends readonly Pick<Family, 'events' | 'data'>[]> = {
  [I in keyof List]: EnvelopeOf<List[I]>;
}[number];

/**
 * The schema of a callback: a union over the families, discriminated by `event` (service-interface
 * sections 2 and 6). Unknown fields pass, both beside `data` and in it.
 */
export function envelopeSchema<const List extends readonly [Family, ...Family[]]>(families: List) {
  const option = (family: Family) =>
    z.looseObject({ event: z.enum(family.events), ...common, data: family.data });
  const [first, ...rest] = families;
  const union = z.discriminatedUnion('event', [option(first), ...rest.map(option)]);
  // Mapping over the list loses which events go with which data; the list itself still says it.
  return union as unknown as z.ZodType<EnvelopeOfAny<List>>;
}
