import { eventsOf, type Family } from './family.ts';
import { literal, quoted } from './sql.ts';

// The order of the versions of a record is written here alone; its SQL, also that of reports, is made from it.

/** Those that have it come later: what was reconciled, what creates a record, everything else, what deletes it. */
const classes = { reconciled: 0, created: 1, other: 2, deleted: 3 } as const;

const classOf = ({ events, deletedBy, reconciledBy }: Family, event: string): number => {
  if (event === reconciledBy) return classes.reconciled;
  if (event === deletedBy) return classes.deleted;
  return event === events[0] ? classes.created : classes.other;
};

/** SQL for what an event is in the order: `when '…' then …` for each of them. */
const caseOf = (
  event: string,
  cases: readonly (readonly [event: string, value: string])[],
  otherwise: string,
) =>
  cases.length > 0
    ? `case ${event} ${cases.map(([name, value]) => `when ${literal(name)} then ${value}`).join(' ')} else ${otherwise} end`
    : otherwise;

const classOfEvent = (families: readonly Family[], event: string) => {
  const cases = families.flatMap((family) =>
    eventsOf(family).map((name) => [name, String(classOf(family, name))] as const),
  );
  return caseOf(
    event,
    cases.filter(([, value]) => value !== String(classes.other)),
    String(classes.other),
  );
};

const rankOfEvent = (families: readonly Family[], event: string) => {
  const cases = families.flatMap((family) => family.events.map((name, n) => [name, String(n + 1)] as const));
  return caseOf(event, cases, '0');
};

/** Without a time of its own a deletion is the last of its second, and any other event the first; what was reconciled always is. */
function changeTimeOf(families: readonly Family[], event: string, changedAt: string): string {
  const cases = families.flatMap(({ deletedBy, reconciledBy }) => [
    ...(deletedBy ? [[deletedBy, `coalesce(${changedAt}, 'infinity')`] as const] : []),
    // The field is that of the row that it was compared with.
    ...(reconciledBy ? [[reconciledBy, `'-infinity'`] as const] : []),
  ]);
  return caseOf(event, cases, `coalesce(${changedAt}, '-infinity')`);
}

/** SQL for the change time that the delivery of a row itself said; null: none. */
const changedAtOf = ({ orderedBy }: Family, row: string): string =>
  orderedBy
    ? `case when ${row}.carried->'lacks' ? ${literal(orderedBy)} then null else ${row}.${quoted(orderedBy)} end`
    : 'null::timestamptz';

/**
 * The order of the versions of a record: SQL expressions over a row of its table, of which the first that differs decides. The
 * second of the event and of the change come before what they are, because some times have milliseconds and others do not.
 */
export function versionOrder(family: Family, row: string): string[] {
  const event = `${row}.last_event`;
  if (!family.identifiedBy) return [`${row}.event_time`, `${row}.delivery_id`];
  const changeTime = family.orderedBy ? changeTimeOf([family], event, changedAtOf(family, row)) : undefined;
  const isOne = eventsOf(family).length === 1;
  return [
    `date_trunc('second', ${row}.event_time)`,
    ...(changeTime ? [`date_trunc('second', ${changeTime})`] : []),
    ...(isOne ? [] : [classOfEvent([family], event)]),
    ...(changeTime ? [changeTime] : []),
    `${row}.event_time`,
    ...(isOne ? [] : [rankOfEvent([family], event)]),
    `${row}.delivery_id`,
  ];
}

/** SQL for the key of a row's version: a text that sorts, with the collation "C", as `versionOrder` does. */
export const versionKeyOf = (family: Family, row: string): string =>
  versionKey(
    [family],
    `${row}.last_event`,
    `${row}.event_time`,
    changedAtOf(family, row),
    `${row}.delivery_id`,
  );

const versionKey = (
  families: readonly Family[],
  event: string,
  time: string,
  changedAt: string,
  id: string,
) =>
  `version_key(${time}, ${changeTimeOf(families, event, changedAt)}, ${classOfEvent(families, event)}, ${rankOfEvent(families, event)}, ${id})`;

/** The file db/reporting/0_version_order.sql, for queries that are not made from the families. */
export function versionOrderFile(families: readonly Family[]): string {
  const versioned = families.filter(({ versions }) => versions);
  const times = versioned.flatMap(({ orderedBy }) => (orderedBy ? [literal(orderedBy)] : [])).join(', ');
  const changedAt = `case when carried->'lacks' ?| array[${times}] then null else changed_at end`;
  const key = versionKey(versioned, 'event', 'event_time', changedAt, 'delivery_id');
  return `-- Made from src/families/version-order.ts by "npm run docs".
create or replace function version_key_of(
  event text, event_time timestamptz, changed_at timestamptz, carried jsonb, delivery_id uuid
) returns text
  language sql immutable parallel safe
  return ${key};
comment on function version_key_of is 'The place of a version of a receipt or an appointment among those of its record, as a text that sorts like it';
`;
}
