import { titled, words } from '../../common/words.ts';
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
export interface Family<
  N extends string = string,
  E extends Events = Events,
  F extends Fields = Fields,
  Key extends string = string,
  Table extends string = string,
> {
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
  table: Table;
  fields: F;
  /** The field that identifies a record of a business; undefined: each delivery is a record of its own. */
  identifiedBy?: Key;
  /** The field with the time of the record's change; undefined: that of the event. */
  orderedBy?: string;
  /** Fields that are one fact: a callback with the first has the others, and what it lacks of them is null. */
  facts?: Readonly<Record<string, readonly string[]>>;
  /** What people call a record; without it, the name in words. */
  title?: string;
  /** The fields of each group, with what people call them. */
  shown?: { [G in keyof typeof shownGroups]?: Readonly<Record<string, string>> };
  /** The field with the number that is printed on it. */
  printed?: string;
  /** The fields that say in one line what a record is. */
  headline?: readonly string[];
  /** Where it has names and phone numbers that people search for: fields, or keys of nested ones, as `patient.name`. */
  people?: { names: readonly string[]; phones: readonly string[] };
}

/** Names that have to be those of fields. */
interface Named<F> {
  orderedBy?: Name<F>;
  facts?: { readonly [K in Name<F>]?: readonly Name<F>[] };
  shown?: { readonly [G in keyof typeof shownGroups]?: { readonly [K in Name<F>]?: string } };
  printed?: Name<F>;
  headline?: readonly Name<F>[];
}

/** Defines a family; the compiler checks the names of its fields. */
export const defineFamily = <
  const N extends string,
  const E extends Events,
  const F extends Fields,
  const Table extends string,
  const Key extends Name<F> = never,
>(
  definition: Omit<Family<N, E, F, Key, Table>, keyof Named<F>> & Named<F>,
): Family<N, E, F, Key, Table> => definition as Family<N, E, F, Key, Table>;

/** The class of an event; any other than those of the family is an update. */
export const classOf = ({ events }: Family, event: string): EventClass =>
  Object.hasOwn(events, event) ? events[event]! : 'updated';

/** Whether its path takes every event, also one that no family lists. */
export const takesEveryEvent = ({ events }: Family): boolean => Object.keys(events).length === 0;

/** The events that callbacks may have: not those of the receiver itself. */
export const callbackEvents = ({ events }: Family): string[] =>
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

/** What the configuration needs to know of a family. */
export const pathsOf = ({ name, events, path }: Family) => ({
  ...{ name, events: Object.keys(events), path },
});

/** The function with its results kept, by the object that it is given. */
export function cached<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) {
      value = make(key);
      values.set(key, value);
    }
    return value;
  };
}

/** What people call a record of a family. */
export const titleOf = ({ title, name }: Family): string => title ?? words(name);

/** What people call a field. */
export const labelOf = ({ shown = {} }: Family, field: string): string =>
  Object.values(shown).find((fields) => fields[field])?.[field] ?? titled(field);

/** What a value of a field means to people; a value without a known meaning is itself. */
export const meaningOf = ({ fields }: Family, field: string, value: string): string =>
  fields[field]?.meanings?.[value] ?? value;
