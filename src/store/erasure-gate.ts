/**
 * A common table expression for every statement that stores or applies deliveries. It has no rows and is not used: PostgreSQL
 * locks the tables of a whole statement before it takes the snapshot, so such a statement and an erasure, which locks `erased`
 * exclusively, wait for each other and see each other's changes.
 */
export const erasureGate = 'gate as (select from erased where false for share)';

/**
 * The common table expressions of a statement that stores something: `refused` contains the ids of the rows about something
 * that was erased. They cost nothing until something was.
 *
 * @param rows the common table expression of the rows, with `id`, `family`, `envelope` and `patients`: the ids of all patients
 *   that it names as a list of JSON, or null where patient_of tells all there is
 * @param envelope SQL for their envelopes with the event time that they are judged by
 */
export const refusedAmong = (
  rows: string,
  envelope = 'envelope',
): string => `${erasureGate}, refused as materialized (
  select refused_deliveries(array_agg(id), array_agg(family), array_agg(${envelope}), array_agg(patients)) as id
  from ${rows}
  where exists (select from erased)
)`;
