import type pg from 'pg';
import type { Log } from '../common/log.ts';
import type { Observer, Responded } from '../common/observer.ts';
import type { Circuit } from '../store/circuit.ts';

interface Count {
  minute: Date;
  family: string;
  status: number;
  reason: string;
  count: number;
}

const minuteMs = 60_000;
const flushEveryMs = 5_000;
const cleanEveryMs = 60 * minuteMs;
const timeoutMs = 5_000;
/** An outage of PostgreSQL can be long. */
const maxCounts = 5_000;

// In the order of the keys, and without waiting for rows that another receiver deletes: this prevents deadlocks.
const statement = `
with expired as (
  delete from rejected_requests where ctid = any (array(
    select ctid from rejected_requests where $6 and minute < now() - interval '7 days' for update skip locked
  ))
)
insert into rejected_requests (minute, family, status, reason, count)
select minute, family, status, reason, count
from unnest($1::timestamptz[], $2::text[], $3::int[], $4::text[], $5::bigint[]) as counted(minute, family, status, reason, count)
order by 1, 2, 3, 4
on conflict (minute, family, status, reason) do update set count = rejected_requests.count + excluded.count`;

/**
 * Counts rejected requests in memory, and adds them every few seconds to a table that receivers share: a request never
 * waits for it. What cannot be written is written later, with the minutes in which it happened; a crash loses the counts of
 * the last seconds. Rows are kept for a week.
 */
export function countRejectedRequests(
  pool: pg.Pool,
  circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>,
  log: Log,
) {
  let counts = new Map<string, Count>();
  let writing: Promise<void> | undefined;
  let isFailing = false;
  let cleanedAt = Number.NEGATIVE_INFINITY;

  const add = (one: Count) => {
    const key = `${one.minute.getTime()} ${one.family} ${one.status} ${one.reason}`;
    const existing = counts.get(key);
    if (existing) existing.count += one.count;
    else if (counts.size < maxCounts) counts.set(key, one);
  };
  const count = ({ family, status, reason = '' }: Pick<Responded, 'family' | 'status' | 'reason'>) => {
    if (status === 'aborted' || status < 400) return;
    const now = Date.now();
    add({ minute: new Date(now - (now % minuteMs)), family, status, reason, count: 1 });
  };

  async function write(): Promise<void> {
    const written = [...counts.values()];
    counts = new Map();
    const cleans = performance.now() - cleanedAt > cleanEveryMs;
    const column = <Name extends keyof Count>(name: Name) => written.map((one) => one[name]);
    try {
      await pool.query({
        text: statement,
        values: [...(['minute', 'family', 'status', 'reason', 'count'] as const).map(column), cleans],
        query_timeout: timeoutMs,
      });
      if (cleans) cleanedAt = performance.now();
      isFailing = false;
    } catch (error) {
      for (const one of written) add(one);
      // The circuit logs an outage.
      if (isFailing || (await circuit.probeAfter(error))) return;
      isFailing = true;
      log.warn({ err: error }, 'counts of rejected requests cannot be written; retrying');
    }
  }

  /** Writes the counts; after a failure they are written with the next ones. */
  async function flush(): Promise<void> {
    if (!writing && (counts.size === 0 || circuit.isOpen)) return;
    writing ??= write().finally(() => {
      writing = undefined;
    });
    await writing;
  }

  const timer = setInterval(() => void flush(), flushEveryMs).unref();
  const observer = {
    responded: count,
    unrouted: (_req: unknown, status: number, reason: string) => count({ family: 'none', status, reason }),
  } satisfies Observer;
  const close = async () => {
    clearInterval(timer);
    await writing;
    await flush();
  };
  return { observer, flush, close };
}
