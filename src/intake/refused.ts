import { erasureGate } from '../store/erasure-gate.ts';

/**
 * The common table expressions of a statement that stores something: `refused` contains the ids of the rows about something
 * that was erased. They cost nothing until something was.
 *
 * @param rows the common table expression of the rows, with `id`, `family` and `envelope`
 */
export const refusedAmong = (rows: string): string => `${erasureGate}, refused as materialized (
  select refused_deliveries(array_agg(id), array_agg(family), array_agg(envelope)) as id
  from ${rows}
  where exists (select from erased)
)`;
