import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { DeliveryStatus, Tables } from '../../store/tables.ts';
import type { Receiver } from '../dependencies.ts';
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
    sql<Hour & { last: Date }>`
      select hour, family, count(*)::int as callbacks, max(received_at) as last
      from reporting.deliveries
      where day >= reporting.today() - 1 and hour > now() - interval '24 hours'
      group by hour, family`.execute(db),
    sql<{ hour: Date }>`
      select reporting.hour(now()) - n * interval '1 hour' as hour from generate_series(23, 0, -1) as n
      `.execute(db),
  ]);
  const times = hours.map(({ last }) => last.getTime());
  return {
    hours,
    /** The hours that a chart shows, those without a callback included. */
    shown: shown.map(({ hour }) => hour),
    /** When the last callback of that time was received. */
    last: times.length > 0 ? new Date(Math.max(...times)) : null,
  };
}

/** From arrival to row, in milliseconds. */
export interface Latency {
  p50: number;
  p95: number;
}

/** Of the deliveries of the last hour, the last 10,000 at most; a replay includes the time of the repair, and is left out. */
export async function readLatency(db: Kysely<Tables>): Promise<Latency | null> {
  const { rows } = await sql<{ latency: [number, number] | null }>`
    select percentile_cont(array[0.5, 0.95]) within group (order by ms) as latency from (
      select extract(epoch from applied_at - received_at)::float8 * 1000 as ms from applied_deliveries
      where received_at > now() - interval '1 hour' and not replayed
      order by received_at desc limit 10000
    ) as newest`.execute(db);
  const [p50, p95] = rows[0]!.latency ?? [];
  return p50 === undefined || p95 === undefined ? null : { p50, p95 };
}

/** Whether nothing was ever received at a registered path, but for test callbacks. */
export async function isFresh(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ fresh: boolean }>`
    select not exists (select from inbox where event <> 'receiver.test')
       and not exists (select from rejected_requests where family not in ('none', 'other'))
       and not exists (select from quarantine) as fresh`.execute(db);
  return rows[0]!.fresh;
}

type Responded = Awaited<ReturnType<Receiver['sendTest']>>;
/** What became of a test callback; without `delivery`, it was rejected or not stored. */
export type Tested =
  | { error: string }
  | (Responded & { delivery?: { status: DeliveryStatus; ms: number } | undefined });

const appliedWithinMs = 5_000;

/** Sends a test callback, and waits a moment until it is applied. */
export async function sendTest(db: Kysely<Tables>, { sendTest }: Receiver): Promise<Tested> {
  const deadline = performance.now() + appliedWithinMs;
  try {
    const response = await sendTest();
    if (!response.id) return response;
    for (;;) {
      const { rows } = await sql<{ status: DeliveryStatus; ms: number }>`
        select status, coalesce(extract(epoch from applied_at - received_at), 0)::float8 * 1000 as ms
        from deliveries where id = ${response.id}::uuid`.execute(db);
      const [delivery] = rows;
      if (delivery?.status !== 'received' || performance.now() > deadline) return { ...response, delivery };
      await sleep(50);
    }
  } catch (error) {
    return { error: (error as Error).message };
  }
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
