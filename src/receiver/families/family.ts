import type { Field } from './field.ts';

/**
 * What an event is in the order of a record's versions of the same second: a read of the reconciliation comes first, a
 * deletion last.
 */
export const eventClasses = ['reconciled', 'created', 'updated', 'deleted'] as const;
export type EventClass = (typeof eventClasses)[number];

type Events = Readonly<Record<string, EventClass>>;
type Fields = Readonly<Record<string, Field>>;
type Name<F> = keyof F & string;

/** What people read of a record, in this order; the rest is shown as received. */
export const shownGroups = {
  money: 'Money',
  people: 'People and places',
  time: 'Time',
  more: 'More',
} as const;

/** A family of events: one file. Its table, types, pages and documents follow from it. */
export interface Family<N extends string = string, E extends Events = Events, F extends Fields = Fields> {
  /** `inbox.family`: letters, digits and underscores. */
  name: N;
  /** The values of `event`. Empty: those that no family lists. */
  events: E;
  /** The registered paths, and a variable that sets others. Each path takes every event of the family. */
  path: {
    variable?: string;
    default: readonly string[];
    /** Where only unguessable paths protect callbacks: it has to be set, unless a path for every event is. */
    isBasic?: true;
  };
  /** The table in `public`. */
  table: string;
  fields: F;
  /** The field that identifies a record of a business; undefined: each delivery is a record of its own. */
  identifiedBy?: Name<F>;
  /** The field with the time of the record's change; undefined: that of the event. */
  orderedBy?: Name<F>;
  /** Fields that are one fact: a callback with the first has the others, and what it lacks of them is null. */
  facts?: { [K in Name<F>]?: readonly Name<F>[] };
  /** The field with the time of its creation, by whose day its records are counted. */
  createdAt?: Name<F>;
  /** What people call a record; without it, the name in words. */
  title?: string;
  /** The fields of each group, with what people call them. */
  shown?: { [G in keyof typeof shownGroups]?: { [K in Name<F>]?: string } };
  /** The field with the number that is printed on it. */
  printed?: Name<F>;
  /** The fields that say in one line what a record is. */
  headline?: readonly Name<F>[];
  /** What amounts are made of: the first less the others. */
  sums?: { [K in Name<F>]?: readonly Name<F>[] };
}

/** Checks the definition of a family by its types. */
export const defineFamily = <const N extends string, const E extends Events, const F extends Fields>(
  definition: Family<N, E, F>,
): Family<N, E, F> => definition;

/** Whether its path takes every event, also one that no family lists. */
export const takesEveryEvent = ({ events }: Pick<Family, 'events'>): boolean =>
  Object.keys(events).length === 0;

/** The events that callbacks may have: not those of the receiver itself. */
export const callbackEvents = ({ events }: Pick<Family, 'events'>): string[] =>
  Object.keys(events).filter((event) => events[event] !== 'reconciled');

/** Whether the key of its records comes from the envelope. */
export const isKeyedByEnvelope = ({ fields, identifiedBy }: Family): boolean =>
  identifiedBy !== undefined && fields[identifiedBy]!.fromEnvelope !== undefined;

/** Whether the key of its records may identify a patient. */
export const hasPersonalKey = ({ fields, identifiedBy }: Family): boolean =>
  identifiedBy !== undefined && fields[identifiedBy]!.personal !== false;

/** The columns of every family's table, besides its fields. */
export const commonColumns = {
  client_id: 'text',
  last_event: 'text',
  event_time: 'timestamptz',
  deleted_at: 'timestamptz',
  extra: 'jsonb',
  delivery_id: 'uuid',
} as const;
