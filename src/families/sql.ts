import { eventsOf, type Family, fieldsInData, hasPersonalKey } from './family.ts';
import { type Field, time } from './field.ts';

// The SQL that follows from what a family declares.

/** An identifier in SQL. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
/** A string in SQL. */
export const literal = (value: string) => `'${value.replaceAll("'", "''")}'`;

export const listOf = (columns: readonly string[]) => columns.map(quoted).join(', ');
/** Columns of a row of a query. */
export const qualified = (row: string, columns: readonly string[]) =>
  columns.map((column) => `${row}.${quoted(column)}`).join(', ');

/** Whether two rows have the same values in these columns. */
export const equal = (one: string, other: string, columns: readonly string[]) =>
  columns.map((column) => `${one}.${quoted(column)} = ${other}.${quoted(column)}`).join(' and ');

/** The key of a family's table: a record's, or a delivery's where the family has no records. */
export const keyOf = ({ identifiedBy }: Family) =>
  identifiedBy ? ['business_id', identifiedBy] : ['delivery_id'];

/**
 * The query for the records that rows of a family's table are about: `family`, `business_id` and `id`, as text.
 *
 * @param areGone an id that may identify a patient is replaced by its pseudonym
 */
export function recordsOf(family: Family, rows: string, areGone = false): string {
  const key = `${quoted(keyOf(family).at(-1)!)}::text`;
  const id = areGone && hasPersonalKey(family) ? `pseudonym_of_change(business_id, ${key})` : key;
  return `select ${literal(family.name)} as family, business_id, ${id} as id from ${rows}`;
}

/** The order of the versions of a record: expressions over a row of its table. */
export function versionOrder(family: Family, row: string): string[] {
  const { orderedBy, deletedBy, reconciledBy } = family;
  const events = eventsOf(family);
  const changeTime = (field: string) => {
    const orElse = (time: string) => `coalesce(${row}.${quoted(field)}, '${time}')`;
    const when = (event: string, time: string) => `when ${row}.last_event = ${literal(event)} then ${time}`;
    const cases = [
      ...(deletedBy ? [when(deletedBy, orElse('infinity'))] : []),
      // The field is that of the row that it was compared with.
      ...(reconciledBy ? [when(reconciledBy, `'-infinity'`)] : []),
    ];
    return cases.length > 0 ? `case ${cases.join(' ')} else ${orElse('-infinity')} end` : orElse('-infinity');
  };
  return [
    `${row}.event_time`,
    ...(orderedBy ? [changeTime(orderedBy)] : []),
    ...(events.length > 1
      ? [`array_position(array[${events.map(literal).join(', ')}], ${row}.last_event)`]
      : []),
    `${row}.delivery_id`,
  ];
}

/**
 * The query for the rows that deliveries make of one family: all versions, also of the same record.
 *
 * @param deliveries rows of inbox; with `applied_at`, where the family has a table of versions
 */
export function rowsMadeOf(family: Family, deliveries: string): { columns: string[]; query: string } {
  const { name, fields, deletedBy, versions } = family;
  const names = Object.keys(fields);
  // Fields with one name in `data` are unpacked at once.
  const isUnpacked = (field: string) => !fields[field]!.fromEnvelope && !fields[field]!.alias;
  const unpacked = names.filter(isUnpacked).map((field) => `${quoted(field)} ${fields[field]!.json}`);
  const read = (field: string) =>
    isUnpacked(field)
      ? `data.${quoted(field)}`
      : `(${readField(fields, field, 'd.envelope')})::${fields[field]!.json}`;
  const columns = {
    business_id: 'd.business_id',
    ...Object.fromEntries(names.map((field) => [field, fields[field]!.column(read(field))])),
    client_id: 'd.client_id',
    last_event: 'd.event',
    event_time: 'd.event_time',
    deleted_at: deletedBy
      ? `case when d.event = ${literal(deletedBy)} then d.event_time end`
      : 'null::timestamptz',
    extra: `(d.envelope->'data') - array[${namesInData(fields).map(literal).join(', ')}]::text[]`,
    delivery_id: 'd.id',
    ...(versions && { received_at: 'd.received_at', applied_at: 'coalesce(d.applied_at, now())' }),
  };
  const data = `
  cross join lateral jsonb_to_record(d.envelope->'data') as data(${unpacked.join(', ')})`;
  return {
    columns: Object.keys(columns),
    query: `
  select ${Object.entries(columns)
    .map(([column, value]) => `${value} as ${quoted(column)}`)
    .join(',\n    ')}
  from ${deliveries} d${unpacked.length > 0 ? data : ''}
  where d.family = ${literal(name)}`,
  };
}

/** SQL for the `data` of a callback that makes this row of a family's table; null for no row. Its times are in UTC. */
export function dataOf({ fields }: Family, row: string): string {
  const textOf = ([name, { schema }]: [string, Field]) => {
    const column = `${row}.${quoted(name)}`;
    // With every digit, and the same in every session.
    return schema === time.schema
      ? `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
      : column;
  };
  const pairs = fieldsInData(fields).map((field) => `${literal(field[0])}, ${textOf(field)}`);
  return `${row}.extra || (
    select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(jsonb_build_object(${pairs.join(', ')}))
    where value <> 'null'
  )`;
}

/**
 * SQL for the value of a field that identifies a family's records, with the type of its column: 1.0 and 1 are the same
 * receipt. Null for a delivery of another family, whose field of this name may contain anything.
 *
 * @param row the alias of a row with `family` and `envelope`
 * @returns undefined where each delivery of the family is a record of its own
 */
export function readKey({ name, fields, identifiedBy }: Family, row: string): string | undefined {
  if (!identifiedBy) return undefined;
  const { json, column } = fields[identifiedBy]!;
  const id = column(`(${readField(fields, identifiedBy, `${row}.envelope`)})::${json}`);
  return `case when ${row}.family = '${name}' then ${id} end`;
}

/** SQL that reads a field from an envelope, as text. */
export function readField(fields: Family['fields'], name: string, envelope: string): string {
  const { alias, fromEnvelope } = fields[name]!;
  if (fromEnvelope) return fromEnvelope(envelope);
  const [value, other] = [name, alias].map((key) => `${envelope} #>> '{data,${key}}'`);
  return alias ? `coalesce(${value}, ${other})` : value!;
}

/** The names in `data` of the documented fields. */
export const namesInData = (fields: Family['fields']): string[] =>
  fieldsInData(fields).flatMap(([name, { alias }]) => (alias ? [name, alias] : [name]));
