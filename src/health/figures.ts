import { type RawBuilder, sql } from 'kysely';
import { countUpTo, read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { cached } from './cached.ts';
import { readVersions } from './versions.ts';

/** How many deliveries wait, and when the oldest of them was received; null: none waits. */
const backlogQuery = sql<{ oldest: Date | null; waiting: number }>`
  select (select min(received_at) from pending_deliveries) as oldest,
         ${countUpTo(sql`select from pending_deliveries`)} as waiting`;

/**
 * Callbacks of each of the last 24 hours by family; null: nothing was received in the hour. The last received is in the
 * last row that has one.
 */
const arrivalsQuery = sql<{ hour: Date; family: string | null; callbacks: number; last: Date | null }>`
  select shown.hour, family, coalesce(callbacks, 0) as callbacks, last
  from (select reporting.hour(now()) - ago * interval '1 hour' as hour from generate_series(0, 23) as ago) as shown
  left join (
    select hour, family, count(*)::int as callbacks, max(received_at) as last
    from reporting.deliveries
    where day >= reporting.today() - 1 and hour > now() - interval '24 hours'
    group by hour, family
  ) as received using (hour)
  order by shown.hour, last`;

/**
 * From arrival to row, in milliseconds, of the last 10,000 deliveries of the last hour, at most; null: there was none.
 * Replays are left out: their time includes that of the repair.
 */
const latencyQuery = sql<{ p50: number | null; p95: number | null }>`
  select percentile_cont(0.5) within group (order by ms) as p50, percentile_cont(0.95) within group (order by ms) as p95
  from (
    select extract(epoch from applied_at - received_at)::float8 * 1000 as ms from applied_deliveries
    where received_at > now() - interval '1 hour' and not replayed
    order by received_at desc limit 10000
  ) as newest`;

/** Whether nothing was ever received at a registered path, but for test callbacks. */
export const freshQuery = sql<{ fresh: boolean }>`
  select not exists (select from inbox where event <> 'receiver.test')
     and not exists (select from quarantine) as fresh`;

export const mostDrift = 10;

/** What is new comes before what is missing, which may only be empty. */
export const driftOrder = "kind = 'missing', last_seen desc, event, field, kind, value";

/** The newest differences from the documented interface. */
const driftQuery = sql<{ event: string; field: string; kind: string; count: string; last: Date }>`
  select event, field, kind, count, last_seen as last from reporting.schema_drift
  order by ${sql.raw(driftOrder)} limit ${mostDrift}`;

/** Businesses that should have sent something by now. */
const silencesQuery = sql<{ business: string; family: string; last: Date; expected: string }>`
  select business_id as business, family, last_received_at as last, expected_callbacks as expected
  from reporting.silence where out_of_the_ordinary
  order by expected_callbacks desc limit 50`;

export type Figures = Awaited<ReturnType<ReturnType<typeof figuresOf>>>;

interface Sources {
  db: Db;
  fallback: Parameters<typeof readVersions>[1];
}

/** Reads the figures of the page Health. Undefined there: the query timed out, or failed. */
export function figuresOf({ db, fallback }: Sources) {
  const readSilent = cached(() => read(db, silencesQuery));
  const orUnknown = <T>(query: Promise<T>): Promise<T | undefined> => query.catch(() => undefined);
  const tryRead = <Row>(query: RawBuilder<Row>) => orUnknown(read(db, query));
  return async () => {
    const [backlog, arrivals, silences, latency, drift, versions] = await Promise.all([
      tryRead(backlogQuery),
      tryRead(arrivalsQuery),
      readSilent(),
      tryRead(latencyQuery),
      tryRead(driftQuery),
      readVersions(db, fallback),
    ]);
    const first = { backlog: backlog?.[0], latency: latency?.[0] };
    return { ...first, arrivals, silences, drift, versions };
  };
}
