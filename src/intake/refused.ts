import { erasureGate } from '../store/erasure-gate.ts';

/** SQL for what a row of `rows`, `i`, is about. */
interface Subject {
  family: string;
  business: string;
  /** The id of the thing; may be null. */
  thing: string;
  /** May be null. */
  patient: string;
  /** Null: the event may have been at any time. */
  eventTime: string;
}

/**
 * The common table expressions of a statement that stores something: `refused` contains the ids of the rows about something
 * that was erased. They cost nothing until something was.
 *
 * @param rows the common table expression of the rows, each with an `id`
 */
export const refusedAmong = (
  rows: string,
  { family, business, thing, patient, eventTime }: Subject,
): string => `${erasureGate}, refused as materialized (
  select id
  from ${rows} i
  cross join (select salt from erasure_salt limit 1) salts
  cross join lateral (
    select ${family} as family, ${business} as business, ${thing} as thing, ${patient} as patient offset 0
  ) subject
  where exists (select from erased) and exists (
    select from erased e
    where e.hash = any(erasure_hashes(salt, subject.family, subject.business, subject.thing, subject.patient))
      and e.until >= coalesce(${eventTime}, '-infinity')
  )
)`;
