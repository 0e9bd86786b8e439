import type { Family } from './family.ts';

/** The spellings of a patient's id in the data of a callback (service-interface section 2). */
export const patientFields = ['patient_oid', 'patientid', 'patient_id'] as const;

/**
 * SQL for the id of the thing that a delivery is about, with the type of its column: 1.0 and 1 are the same receipt.
 * Null for a delivery of another family, whose field of this name may contain anything.
 *
 * @param row the alias of a row with `family` and `envelope`
 * @returns undefined where the family's deliveries are about no thing that has an id
 */
export function thingIdOf({ name, fields, identifiedBy }: Family, row: string): string | undefined {
  if (!identifiedBy) return undefined;
  const { json, column } = fields[identifiedBy]!;
  const id = column(`(${row}.envelope #>> '{data,${identifiedBy}}')::${json}`);
  return `case when ${row}.family = '${name}' then ${id} end`;
}

/** SQL for the same id as text, for deliveries of any family. */
export function thingOf(families: readonly Family[], row: string): string {
  const ids = families.flatMap((family) => thingIdOf(family, row) ?? []);
  return `coalesce(${['null', ...ids.map((id) => `(${id})::text`)].join(', ')})`;
}
