import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import type { Window } from './days.ts';

/** The last days until today in the time zone of the reports, and whether a pass of today has compared them. */
export async function findDays(db: Db, days: number): Promise<Window & { isDone: boolean }> {
  const { rows } = await sql<Window & { isDone: boolean }>`
    select from_day::text as "from", today::text as "to", exists (
      select from reconciliations r
      where r.from_day <= days.from_day and r.to_day >= today and r.ended_at is not null
        -- Not a later day: the clock may have been ahead.
        and reporting.day(r.started_at) = today
    ) as "isDone"
    from (select reporting.today() as today, reporting.today() - ${days}::int as from_day) as days`.execute(
    db,
  );
  return rows[0]!;
}
