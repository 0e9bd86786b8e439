import type { Family } from './family.ts';

/**
 * SQL for the value of a field that identifies a family's things, with the type of its column: 1.0 and 1 are the same
 * receipt. Null for a delivery of another family, whose field of this name may contain anything.
 *
 * @param row the alias of a row with `family` and `envelope`
 * @returns undefined where each delivery of the family is a thing
 */
export function readKey({ name, fields, identifiedBy }: Family, row: string): string | undefined {
  if (!identifiedBy) return undefined;
  const { json, column } = fields[identifiedBy]!;
  const id = column(`(${readField(fields, identifiedBy, `${row}.envelope`)})::${json}`);
  return `case when ${row}.family = '${name}' then ${id} end`;
}

/** The admission that a `transaction_id` names, as in the function admission_of. */
export const admissionOf = (transactionId: string): string | undefined =>
  /\/admissions\/([^/]{1,200})(?:\/|$)/u.exec(transactionId)?.[1];

/** SQL that reads a field from an envelope, as text. */
export function readField(fields: Family['fields'], name: string, envelope: string): string {
  const { alias, fromEnvelope } = fields[name]!;
  if (fromEnvelope) return fromEnvelope(envelope);
  const [value, other] = [name, alias].map((key) => `${envelope} #>> '{data,${key}}'`);
  return alias ? `coalesce(${value}, ${other})` : value!;
}

/** The names in `data` of the documented fields. */
export const namesInData = (fields: Family['fields']): string[] =>
  Object.entries(fields).flatMap(([name, { alias, fromEnvelope }]) =>
    fromEnvelope ? [] : alias ? [name, alias] : [name],
  );
