import { z } from 'zod';
import type { Field } from './field.ts';

type Fields = Record<string, Field>;
type Shape<F extends Fields> = { [K in keyof F]: F[K]['schema'] };
type Events = readonly [string, ...string[]];

/** Those of the columns which every family's table has that cannot identify a patient. */
export const publicColumns = new Set([
  ...['business_id', 'client_id', 'last_event', 'event_time', 'deleted_at', 'delivery_id'],
]);

/** What one file in this folder says of its family. */
export interface FamilyDefinition<Name extends string, E extends Events, F extends Fields> {
  /** `deliveries.family`. */
  name: Name;
  /** The values of `event`, in the order of a thing's life: a later one wins a tie. */
  events: E;
  /** The event after which the thing is gone. */
  deletedBy?: E[number];
  /** The variable that configures the registered path, and the path without it. */
  path: { variable: string; default: string };
  /** The documented fields of `data`. */
  fields: F;
  table: string;
  /** A table that keeps every version of each thing: the columns of `table`, `received_at` and `applied_at`. */
  versions?: string;
  /** The field that tells one thing of a business from another; without it each delivery is its own thing. */
  identifiedBy?: keyof F & string;
  /** The field that orders deliveries whose event times are equal: where it is missing, a deletion comes last. */
  orderedBy?: keyof F & string;
}

export interface Family<Name extends string = string, E extends Events = Events, F extends Fields = Fields>
  extends FamilyDefinition<Name, E, F> {
  /** The schema of `data`: unknown fields pass. */
  data: z.ZodObject<Shape<F>, z.core.$loose>;
}

/** A family out of its definition: one object is all that a new family needs besides its table. */
export function defineFamily<const Name extends string, const E extends Events, F extends Fields>(
  definition: FamilyDefinition<Name, E, F>,
): Family<Name, E, F> {
  const shape = Object.fromEntries(
    Object.entries(definition.fields).map(([name, field]) => [name, field.schema]),
  ) as Shape<F>;
  return { ...definition, data: z.looseObject(shape) };
}
