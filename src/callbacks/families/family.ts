import { titled, words } from '../../common/words.ts';
import type { Field, ValueOf } from './field.ts';

/**
 * What an event is in the order of a record's versions of the same second: a read of the reconciliation comes first, a
 * deletion last.
 */
export const eventClasses = ['reconciled', 'created', 'updated', 'deleted'] as const;
export type EventClass = (typeof eventClasses)[number];

type Events = Readonly<Record<string, EventClass>>;
type Fields = Readonly<Record<string, Field>>;
type Name<F> = keyof F & string;

/** The groups of labels, in the order in which people read a record. */
export const labelGroups = ['money', 'people', 'time', 'more'] as const;
type LabelGroup = (typeof labelGroups)[number];

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
  key?: Key;
  /** The field with the time of the record's change; undefined: the time of the event. */
  changeTime?: string;
  /** Fields that belong to another: a callback with that one has them too, and those that it lacks are null. */
  dependentFields?: Readonly<Record<string, readonly string[]>>;
  /** What people call a record; default: the name in words. */
  title?: string;
  /** What people call its fields, by group. */
  labels?: { [G in LabelGroup]?: Readonly<Record<string, string>> };
  /** The field with the number that is printed on it. */
  printedNumber?: string;
  /** The fields that describe a record in one line. */
  headline?: readonly string[];
  /** The names and phone numbers that people search for: fields, or keys of nested ones, such as `patient.name`. */
  people?: { names: readonly string[]; phones: readonly string[] };
  /**
   * Values of an example, for the sandbox and for tests: see sample.ts. A field without one has an example of its kind, a field
   * with `undefined` is left out. `transaction_id` is that of the envelope.
   */
  sample?: Readonly<Record<string, unknown>>;
}

/** Names that have to be those of fields. */
interface FieldNames<F extends Fields> {
  changeTime?: Name<F>;
  dependentFields?: { readonly [K in Name<F>]?: readonly Name<F>[] };
  labels?: { readonly [G in LabelGroup]?: { readonly [K in Name<F>]?: string } };
  printedNumber?: Name<F>;
  headline?: readonly Name<F>[];
  sample?: { readonly [K in Name<F>]?: ValueOf[F[K]['kind']] | undefined } & { transaction_id?: string };
}

/** Defines a family; the compiler checks the names of its fields. */
export const defineFamily = <
  const N extends string,
  const E extends Events,
  const F extends Fields,
  const Table extends string,
  const Key extends Name<F> = never,
>(
  definition: Omit<Family<N, E, F, Key, Table>, keyof FieldNames<F>> & FieldNames<F>,
): Family<N, E, F, Key, Table> => definition as Family<N, E, F, Key, Table>;

/** The class of an event; any other than those of the family is an update. */
export const classOf = ({ events }: Family, event: string): EventClass =>
  Object.hasOwn(events, event) ? events[event]! : 'updated';

/** Its path takes every event, also one that no family lists. */
export const takesEveryEvent = ({ events }: Family): boolean => Object.keys(events).length === 0;

/** The events that callbacks may have: not those of the receiver itself. */
export const callbackEvents = ({ events }: Family): string[] =>
  Object.keys(events).filter((event) => events[event] !== 'reconciled');

/** The field that identifies a record; undefined: each delivery is a record of its own. */
export const keyFieldOf = ({ fields, key }: Family): Field | undefined =>
  key === undefined ? undefined : fields[key];

/** The key of its records comes from the envelope. */
export const isKeyedByEnvelope = (family: Family): boolean => keyFieldOf(family)?.fromEnvelope !== undefined;

/** The key of its records may identify a patient. */
export const hasPersonalKey = (family: Family): boolean => {
  const field = keyFieldOf(family);
  return field !== undefined && field.personal !== false;
};

/** The columns of every family's table, besides its fields. */
export const commonColumns = {
  client_id: 'text',
  last_event: 'text',
  event_time: 'timestamptz',
  deleted_at: 'timestamptz',
  extra: 'jsonb',
  delivery_id: 'uuid',
} as const;

/** The facts of a family that the configuration needs. */
export const pathsOf = ({ name, events, path }: Family) => ({ name, events: Object.keys(events), path });

/** The documented path of an event: where a family has as many paths as events, each event has its own. */
export function documentedPath(family: Family, event: string): string {
  const events = callbackEvents(family);
  const paths = family.path.default;
  const place = paths.length === events.length ? events.indexOf(event) : 0;
  return paths[place] ?? paths[0]!;
}

/** The function with its results cached by its argument. */
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
export const labelOf = ({ labels = {} }: Family, field: string): string =>
  Object.values(labels).find((fields) => fields[field])?.[field] ?? titled(field);

/** The meaning of a field's value for people; default: the value itself. */
export const meaningOf = ({ fields }: Family, field: string, value: string): string =>
  fields[field]?.meanings?.[value] ?? value;
