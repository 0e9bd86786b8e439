import { sql } from 'kysely';
import type { Db } from '../tables.ts';

export interface Completeness {
  family: string;
  method: 'reconciled' | 'inferred' | 'unverifiable';
  /** The number of days of the range. */
  days: number;
  /** All of these days are complete as of this time; null: they were not compared. */
  completeAsOf: Date | null;
  /** Records that were missing or differed, and how many of them are filled. */
  found: number;
  filled: number;
  unknownToPlatform: number;
}

/**
 * What the reports of some days rest on, by family and method.
 *
 * @param options days such as 2026-11-22, both included; `business`: default all
 */
export async function readCompleteness(
  db: Db,
  { from, to, business }: { from: string; to: string; business?: string | undefined },
): Promise<Completeness[]> {
  const { rows } = await sql<Completeness>`
    select
      family, method, count(distinct day)::int as days, min(complete_as_of) as "completeAsOf",
      sum(missing_found + differing_found)::int as found, sum(missing_filled + differing_filled)::int as filled,
      sum(unknown_to_platform)::int as "unknownToPlatform"
    from reporting.completeness
    where day between ${from}::date and ${to}::date ${business === undefined ? sql`` : sql`and business_id = ${business}`}
    group by family, method order by family, method`.execute(db);
  return rows;
}
