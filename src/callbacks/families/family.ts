import { titled, words } from '../../common/words.ts';
import type { Field, ValueOf } from './field.ts';

/** The order of a record's versions of the same second: a read of the reconciliation comes first. */
export const eventClasses = ['reconciled', 'created', 'updated', 'deleted'] as const;
export type EventClass = (typeof eventClasses)[number];

type Events = Readonly<Record<string, EventClass>>;
type Fields = Readonly<Record<string, Field>>;
type Name<F> = keyof F & string;

/** In the order in which people read a record. */
const labelGroups = ['money', 'people', 'time', 'more'] as const;
type LabelGroup = (typeof labelGroups)[number];

/** A family of events: one file. Its table, types, pages and documents follow from it. */
export interface Family<
  N extends string = string,
  E extends Events = Events,
  F extends Fields = Fields,
  Key extends string = string,
  Table extends string = string,
> {
  name: N;
  /** The values of `event`. Empty: those that no family lists. */
  events: E;
  /** Registered paths, and a variable that sets others. Each takes every event of the family. */
  path: {
    variable?: string;
    default: readonly string[];
    /** Where only unguessable paths protect callbacks, `variable` has to be set, unless a path for every event is. */
    isBasic?: true;
  };
  table: Table;
  fields: F;
  /** The field that identifies a record of a business; undefined: each delivery is a record of its own. */
  key?: Key;
  /** The field with the time of the record's change; undefined: the time of the event. */
  changeTime?: string;
  /** Fields that belong to another: a callback with that one has them too, and those that it lacks are null. */
  dependentFields?: Readonly<Record<string, readonly string[]>>;
  /** What people call a record; default: the name. */
  title?: string;
  /** What people call its fields; default: `label` of the field, or the name. */
  labels?: { [G in LabelGroup]?: Readonly<Record<string, string>> };
  printedNumber?: string;
  /** What people search for: fields, or keys of nested ones, such as `patient.name`. */
  people?: { names: readonly string[]; phones: readonly string[] };
  /** Values of an example, see sample.ts; `undefined` leaves a field out. `transaction_id` is that of the envelope. */
  sample?: Readonly<Record<string, unknown>>;
}

interface FieldNames<F extends Fields> {
  changeTime?: Name<F>;
  dependentFields?: { readonly [K in Name<F>]?: readonly Name<F>[] };
  labels?: { readonly [G in LabelGroup]?: { readonly [K in Name<F>]?: string } };
  printedNumber?: Name<F>;
  sample?: { readonly [K in Name<F>]?: ValueOf<F[K]['kind']> | undefined } & { transaction_id?: string };
}

/** The compiler checks the names of fields. */
export const defineFamily = <
  const N extends string,
  const E extends Events,
  const F extends Fields,
  const Table extends string,
  const Key extends Name<F> = never,
>(
  definition: Omit<Family<N, E, F, Key, Table>, keyof FieldNames<F>> & FieldNames<F>,
): Family<N, E, F, Key, Table> => definition as Family<N, E, F, Key, Table>;

/** An event that the family does not list is an update. */
export const classOf = ({ events }: Family, event: string): EventClass =>
  Object.hasOwn(events, event) ? events[event]! : 'updated';

export const takesEveryEvent = ({ events }: Family): boolean => Object.keys(events).length === 0;

/** Not the receiver's own ones. */
export const callbackEvents = ({ events }: Family): string[] =>
  Object.keys(events).filter((event) => events[event] !== 'reconciled');

export const keyFieldOf = ({ fields, key }: Family): Field | undefined =>
  key === undefined ? undefined : fields[key];

export const isKeyedByEnvelope = (family: Family): boolean => keyFieldOf(family)?.fromEnvelope !== undefined;

export const hasPersonalKey = (family: Family): boolean =>
  family.key !== undefined && keyFieldOf(family)?.personal !== false;

/** The columns of every family's table, besides its fields. */
export const commonColumns = {
  client_id: 'text',
  last_event: 'text',
  event_time: 'timestamptz',
  deleted_at: 'timestamptz',
  extra: 'jsonb',
  delivery_id: 'uuid',
} as const;

export const pathsOf = ({ name, events, path }: Family) => ({ name, events: Object.keys(events), path });

/** Where a family has as many paths as events, each event has its own. */
export function documentedPath(family: Family, event: string): string {
  const events = callbackEvents(family);
  const paths = family.path.default;
  const place = paths.length === events.length ? events.indexOf(event) : 0;
  return paths[place] ?? paths[0]!;
}

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

export const aliasesOf = cached(
  ({ fields }: Family) =>
    new Map(
      Object.entries(fields).flatMap(([name, { alias }]) => (alias === undefined ? [] : [[alias, name]])),
    ),
);

export function fieldNamed(family: Family, name: string): Field | undefined {
  const ownName = aliasesOf(family).get(name) ?? name;
  return Object.hasOwn(family.fields, ownName) ? family.fields[ownName] : undefined;
}

export const titleOf = ({ title, name }: Family): string => title ?? words(name);

export function labelOf({ fields, labels = {} }: Family, name: string): string {
  const { label, refersTo = name } = fields[name] ?? {};
  return Object.values(labels).find((group) => group[name])?.[name] ?? label ?? titled(refersTo);
}

/** The fields with labels, in the order in which people read a record. */
export const labelledFields = ({ fields, labels = {} }: Family): string[] =>
  labelGroups.flatMap((group) => [
    ...Object.keys(labels[group] ?? {}),
    ...Object.keys(fields).filter((name) => group === 'people' && fields[name]!.label),
  ]);

export const meaningOf = ({ fields }: Family, field: string, value: string): string =>
  fields[field]?.meanings?.[value] ?? value;
