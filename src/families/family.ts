import { z } from 'zod';
import type { Field } from './field.ts';

type Fields = Record<string, Field>;
type Shape<F extends Fields> = { [K in keyof F]: F[K]['schema'] };
type Events = readonly [string, ...string[]];

/** The columns of every family's table that cannot identify a patient. */
export const publicColumns = new Set([
  ...['business_id', 'client_id', 'last_event', 'event_time', 'deleted_at', 'delivery_id'],
]);

/** The definition of a family: one file of this folder. */
export interface FamilyDefinition<Name extends string, E extends Events, F extends Fields> {
  /** `deliveries.family`. */
  name: Name;
  /** The values of `event` in the order of the lifecycle: a later one wins a tie. */
  events: E;
  /** The event that deletes the thing. */
  deletedBy?: E[number];
  /** The environment variable of the registered path, and its default. */
  path: { variable: string; default: string };
  /** The documented fields of `data`. */
  fields: F;
  table: string;
  /** A table of all versions of each thing: the columns of `table`, `received_at` and `applied_at`. */
  versions?: string;
  /** The field that identifies a thing of a business; undefined: each delivery is a thing. */
  identifiedBy?: keyof F & string;
  /** The field that orders deliveries with equal event times; without a value, a deletion is the last. */
  orderedBy?: keyof F & string;
}

export interface Family<Name extends string = string, E extends Events = Events, F extends Fields = Fields>
  extends FamilyDefinition<Name, E, F> {
  /** The schema of `data`; unknown fields are accepted. */
  data: z.ZodObject<Shape<F>, z.core.$loose>;
}

/** Creates a family from its definition. */
export function defineFamily<const Name extends string, const E extends Events, F extends Fields>(
  definition: FamilyDefinition<Name, E, F>,
): Family<Name, E, F> {
  const shape = Object.fromEntries(
    Object.entries(definition.fields).map(([name, field]) => [name, field.schema]),
  ) as Shape<F>;
  return { ...definition, data: z.looseObject(shape) };
}
