import { sql } from 'kysely';
import { appointment } from '../families/appointment.ts';
import { allOf, businesses, read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';

export interface Compared {
  /** Days of the newest comparison, with their number. Null: none of the days that were asked for was compared. */
  first: string | null;
  last: string | null;
  days: number;
  asOf: Date | null;
  /** Days that only a former comparison had. */
  earlier: number;
  /** Found missing or differing, and not applied yet. */
  open: number;
  businesses: number;
  ofBusinesses: number;
  /** Records that cannot be verified and that never came, by what others name. */
  suspected: number;
}

/** What a report rests on. */
export interface Basis {
  families: readonly string[];
  /** Undefined: nothing was ever compared. */
  compared: Compared | undefined;
}

interface Question {
  families: readonly string[];
  business?: string | undefined;
  /** Days such as 2026-11-22, both included. */
  from?: string | undefined;
  to?: string | undefined;
}

/** The families whose records the platform lists. */
const comparable: readonly string[] = [appointment.name];

export const splitFamilies = (names: readonly string[]) =>
  [
    names.filter((name) => comparable.includes(name)),
    names.filter((name) => !comparable.includes(name)),
  ] as const;

/** A pass may last for hours. */
const onePass = sql`interval '12 hours'`;

const comparedQuery = ({ families, business, from, to }: Question) => {
  const [ofPlatform, others] = splitFamilies(families);
  const matching = (names: readonly string[]) =>
    allOf([
      sql`family = any(${names}::text[])`,
      business && sql`business_id = ${business}`,
      from && sql`day >= ${from}::date`,
      to && sql`day <= ${to}::date`,
    ]);
  return sql<Compared & { isUsed: boolean }>`
  with compared as (
    select business_id, day, complete_as_of, complete_as_of > max(complete_as_of) over (partition by business_id) - ${onePass} as is_newest,
      missing_found + differing_found - missing_filled - differing_filled as open
    from reporting.completeness where method = 'reconciled' and ${matching(ofPlatform)}
  )
  select exists (select from reconciled_days) as "isUsed",
    min(day) filter (where is_newest)::text as first, max(day) filter (where is_newest)::text as last,
    count(distinct day) filter (where is_newest)::int as days, min(complete_as_of) filter (where is_newest) as "asOf",
    count(distinct day) filter (where not is_newest)::int as earlier, coalesce(sum(open), 0)::int as open,
    count(distinct business_id)::int as businesses,
    (select count(*)::int from ${businesses} known where ${business ? sql`business_id = ${business}` : sql`business_id <> ''`}) as "ofBusinesses",
    (select coalesce(sum(missing), 0)::int from inferred_days where ${matching(others)}) as suspected
  from compared`;
};

/** Reads what the records of these families, days and business rest on: whether they were compared with the platform. */
export async function readBasis(db: Db, question: Question): Promise<Basis> {
  const [{ isUsed, ...compared } = { isUsed: false }] = await read(db, comparedQuery(question));
  return { families: question.families, compared: isUsed ? (compared as Compared) : undefined };
}
