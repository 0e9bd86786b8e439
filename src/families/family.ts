import { z } from 'zod';
import type { Field } from './field.ts';

type Fields = Record<string, Field>;
type Shape<F extends Fields> = { [K in keyof F]: F[K]['schema'] };
type Events = readonly string[];

/** The columns of every family's table that cannot identify a patient. */
export const publicColumns = new Set([
  'business_id',
  'client_id',
  'last_event',
  'event_time',
  'deleted_at',
  'delivery_id',
]);

/** What people read of a record, in this order; the rest is shown as received. */
export const shownGroups = {
  money: 'Money',
  people: 'People and places',
  time: 'Time',
  more: 'More',
} as const;

/** The fields of each group, with what people call them. */
type Shown<F> = { [Group in keyof typeof shownGroups]?: { [Name in keyof F & string]?: string } };

/** The definition of a family: one file of this folder. */
export interface FamilyDefinition<Name extends string, E extends Events, F extends Fields> {
  /** `deliveries.family`. */
  name: Name;
  /** The values of `event` in the order of the lifecycle, what creates a record first. Empty: those that no family lists. */
  events: E;
  deletedBy?: E[number];
  /** The event of what the receiver itself has read from the platform: the oldest of its second. No callback may have it. */
  reconciledBy?: string;
  /** The registered paths, and a variable that sets others. Each path accepts every event of the family. */
  path: {
    variable?: string;
    default: readonly string[];
    /** Where only unguessable paths protect callbacks: it has to be set, unless a path for every event is. */
    isBasic?: true;
  };
  fields: F;
  /** What people call a record; without it, the name in words. */
  title?: string;
  shown?: Shown<F>;
  /** The field with the number that is printed on it. */
  printed?: keyof F & string;
  /** The fields that say in one line what a record is. */
  headline?: readonly (keyof F & string)[];
  /** What amounts are made of: the first less the others. */
  sums?: { [Name in keyof F & string]?: readonly (keyof F & string)[] };
  /** Fields that are one fact: a version with the first, and without the others, empties those. */
  facts?: { [Name in keyof F & string]?: readonly (keyof F & string)[] };
  /** The field with the time of its creation, by whose day its records are counted; else it is that of the earliest event. */
  createdAt?: keyof F & string;
  table: string;
  /** A table of all versions of each record: the columns of `table`, `received_at` and `applied_at`. */
  versions?: string;
  /** The field that identifies a record of a business; undefined: each delivery is a record. */
  identifiedBy?: keyof F & string;
  /** The family of the record that its records belong to, and are erased with; `transaction_id` names it. */
  partOf?: 'admission';
  /** The field that orders deliveries with equal event times; without a value, a deletion is the last. */
  orderedBy?: keyof F & string;
}

export interface Family<Name extends string = string, E extends Events = Events, F extends Fields = Fields>
  extends FamilyDefinition<Name, E, F> {
  /** The schema of `data`; unknown fields are accepted. */
  data: z.ZodObject<Shape<F>, z.core.$loose>;
}

/** The documented fields without those of the envelope. */
export const fieldsInData = (fields: Fields) =>
  Object.entries(fields).filter(([, { fromEnvelope }]) => !fromEnvelope);

/** Creates a family from its definition. */
export function defineFamily<const Name extends string, const E extends Events, F extends Fields>(
  definition: FamilyDefinition<Name, E, F>,
): Family<Name, E, F> {
  const inData = fieldsInData(definition.fields);
  const shape = Object.fromEntries(inData.map(([name, { schema }]) => [name, schema])) as Shape<F>;
  const data = z.looseObject(shape);
  const aliases = inData.flatMap(([name, { alias }]) => (alias ? [[name, alias] as const] : []));
  if (aliases.length === 0) return { ...definition, data };
  const named = z.preprocess((value) => nameFields(value, aliases), data);
  return { ...definition, data: named as unknown as typeof data };
}

/** Gives fields that have another name in a callback their documented one. */
function nameFields(value: unknown, aliases: readonly (readonly [name: string, alias: string])[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const data: Record<string, unknown> = { ...value };
  for (const [name, alias] of aliases) data[name] ??= data[alias];
  return data;
}

/** Every event that deliveries of a family have, also that of the reconciliation, in the order of the lifecycle. */
export const eventsOf = ({
  events,
  reconciledBy,
}: Pick<Family, 'events' | 'reconciledBy'>): readonly string[] =>
  reconciledBy ? [reconciledBy, ...events] : events;

/** Whether a family's path accepts every event, also one that no family lists. */
export const takesEveryEvent = ({ events }: Pick<Family, 'events'>): boolean => events.length === 0;

/** Whether it is a field of the envelope that identifies a family's records, and not one of `data`. */
export const isIdentifiedByEnvelope = ({ fields, identifiedBy }: Family): boolean =>
  identifiedBy !== undefined && fields[identifiedBy]!.fromEnvelope !== undefined;

/**
 * The field that names a family's records in addresses and lists, which everybody sees. Undefined: their deliveries do,
 * also where the id itself may identify a patient.
 */
export const publicKey = ({ identifiedBy, fields }: Family): string | undefined =>
  identifiedBy && fields[identifiedBy]!.personal === false ? identifiedBy : undefined;

/** Whether the id of a family's records may identify a patient. */
export const hasPersonalKey = (family: Family): boolean =>
  family.identifiedBy !== undefined && publicKey(family) === undefined;

/** Whether a field cannot identify a patient: so it is marked in every family that has it. */
export function isPublicField(families: readonly Family[], name: string): boolean {
  const found = families.filter(({ fields }) => Object.hasOwn(fields, name));
  return found.length > 0 && found.every(({ fields }) => fields[name]!.personal === false);
}

/**
 * A callback with every documented field of a family (service-interface section 2): a database that refuses it refuses
 * what the platform may send.
 *
 * @param id a whole number of 15 digits, of a record that does not exist
 */
export function knownGood({ events, fields }: Family, id: number) {
  const seconds = Math.floor(Date.now() / 1000);
  return {
    event: events[0] ?? 'sample.event',
    event_time: seconds,
    timestamp: seconds,
    client_id: 'sample',
    business_id: 'sample',
    transaction_id: `ipd/sample/admissions/sample-${id}/clearances/sample`,
    data: Object.fromEntries(fieldsInData(fields).map(([name, { sample }]) => [name, sample(id)])),
  };
}
