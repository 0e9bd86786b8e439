import { type Family, fieldsInData, hasPersonalKey } from './family.ts';

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

/** The query for the records that rows of a family's table are about: `family`, `business_id` and `id`, as text. */
export const recordsOf = (family: Family, rows: string): string =>
  `select ${literal(family.name)} as family, business_id, ${quoted(keyOf(family).at(-1)!)}::text as id from ${rows}`;

/** Those of them that the feed of changes has: ids that may identify a patient are not recorded. */
export const recordsInFeed = (family: Family, rows: string): string =>
  `${recordsOf(family, rows)}${hasPersonalKey(family) ? ' where false' : ''}`;

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
