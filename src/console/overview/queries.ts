import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../store/tables.ts';
import { countUpTo } from '../frame.ts';
import { businesses } from '../store.ts';

export interface Backlog {
  /** When the oldest waiting delivery was received; null: none waits. */
  oldest: Date | null;
  waiting: number;
}

/** Deliveries that wait. */
export async function readBacklog(db: Kysely<Tables>): Promise<Backlog> {
  const { rows } = await sql<Backlog>`
    select (select min(received_at) from pending_deliveries) as oldest,
           ${countUpTo(sql`select from pending_deliveries`)} as waiting`.execute(db);
  return rows[0]!;
}

interface Hour {
  hour: Date;
  family: string;
  callbacks: number;
}

export type Arrivals = Awaited<ReturnType<typeof readArrivals>>;

/** Callbacks of the last 24 hours. */
export async function readArrivals(db: Kysely<Tables>) {
  const [{ rows: hours }, { rows: shown }] = await Promise.all([
    sql<Hour & { last: Date; lag: number | null }>`
      select hour, family, count(*)::int as callbacks, max(received_at) as last,
             (extract(epoch from avg(applied_at - received_at)
                                   filter (where received_at > now() - interval '1 hour')) * 1000)::float as lag
      from reporting.deliveries
      where day >= reporting.today() - 1 and hour > now() - interval '24 hours'
      group by hour, family`.execute(db),
    sql<{ hour: Date }>`
      select reporting.hour(now()) - n * interval '1 hour' as hour from generate_series(23, 0, -1) as n
      `.execute(db),
  ]);
  const times = hours.map(({ last }) => last.getTime());
  const lags = hours.map(({ lag }) => lag).filter((lag) => lag !== null);
  return {
    hours,
    /** The hours that a chart shows, those without a callback included. */
    shown: shown.map(({ hour }) => hour),
    /** When the last callback of that time was received. */
    last: times.length > 0 ? new Date(Math.max(...times)) : null,
    /** From receipt to row, on average, of what was applied in the last hour. */
    rowLagMs: lags.length > 0 ? Math.max(...lags) : null,
  };
}

export interface Day {
  day: string;
  net: string;
  due: string;
}

/** Net amounts and amounts due of the receipts of each of the last 30 days. */
export async function readDays(db: Kysely<Tables>): Promise<Day[]> {
  const { rows } = await sql<Day>`
    select day::text as day, coalesce(sum(net_amount), 0) as net, coalesce(sum(due_amount), 0) as due
    from (select generate_series(29, 0, -1) as ago) as days
    cross join lateral (select reporting.today() - ago as day) as today
    left join (
      select day, net_amount, due_amount from reporting.receipts_daily
      where business_id = any(array${businesses}) and day >= reporting.today() - 29
    ) as receipts using (day)
    group by day order by day`.execute(db);
  return rows;
}

export interface Silent {
  business: string;
  family: string;
  last: Date;
  expected: string;
}

/** Businesses that should have sent something by now. */
export async function readSilences(db: Kysely<Tables>): Promise<Silent[]> {
  const { rows } = await sql<Silent>`
    select business_id as business, family, last_received_at as last, expected_callbacks as expected
    from reporting.silence where out_of_the_ordinary
    order by expected_callbacks desc limit 50`.execute(db);
  return rows;
}
