import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../receiver/store/tables.ts';
import type { SenderFilter } from './list-deliveries.ts';

/** Days of the reports, both included. */
export interface Period {
  from: string;
  to: string;
  /** In what steps it is counted. */
  unit: 'hour' | 'day';
}

/** What has arrived in an hour, or a day. */
export interface Arrivals {
  /** Its beginning. */
  at: Date;
  /** Stored: applied, waiting or failed. */
  stored: number;
  waiting: number;
  failed: number;
  /** Rejected, and not accepted since. */
  rejected: number;
}

/** Counts of every hour, or day, of a period, in the time zone of the reports, the first one first. */
export async function readArrivals(
  db: Db,
  { from, to, unit }: Period,
  { family, business }: SenderFilter,
): Promise<Arrivals[]> {
  const momentOf = (day: RawBuilder<unknown>) => sql`(${day})::timestamp at time zone reporting.timezone()`;
  const first = momentOf(sql`${from}::date`);
  const last = sql`${momentOf(sql`${to}::date + 1`)} - interval '1 second'`;
  const unitOf = (at: RawBuilder<unknown>) => sql`${sql.raw(`reporting.${unit}`)}(${at})`;
  const [type, beginning] =
    unit === 'hour' ? ['timestamptz', 'step'] : ['date', 'step::timestamp at time zone reporting.timezone()'];
  const conditions = sql.join(
    [
      // The index is on days.
      sql`reporting.day(received_at) between ${from}::date and ${to}::date`,
      ...(family === undefined ? [] : [sql`family = ${family}`]),
      ...(business === undefined ? [] : [sql`business_id = ${business}`]),
    ],
    sql` and `,
  );
  // By the index's own expression, of which PostgreSQL knows how many values there are.
  const step = sql`${unitOf(sql.ref('received_at'))} as step`;
  const { rows } = await sql<Arrivals>`
    with arrived as (
      select ${step}, count(*) as stored, count(*) filter (where next_at < 'infinity') as waiting,
             count(*) filter (where next_at = 'infinity') as failed, 0 as rejected
      from (select id, received_at from receiver.inbox where ${conditions}) i left join receiver.pending_deliveries using (id)
      group by step
      union all
      select ${step}, 0, 0, 0, count(*) from receiver.quarantine where ${conditions} and replayed_at is null group by step
    ), steps as (
      select step::${sql.raw(type!)} from generate_series(${unitOf(first)}, ${unitOf(last)}, ${`1 ${unit}`}::interval) step
    )
    select ${sql.raw(beginning!)} as at, coalesce(sum(stored), 0)::int as stored, coalesce(sum(waiting), 0)::int as waiting,
           coalesce(sum(failed), 0)::int as failed, coalesce(sum(rejected), 0)::int as rejected
    from steps left join arrived using (step) group by step order by step`.execute(db);
  return rows;
}
