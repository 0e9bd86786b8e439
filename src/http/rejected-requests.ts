import type pg from 'pg';
import type { Log } from '../common/log.ts';
import type { Observer, Responded } from '../common/observer.ts';
import type { Circuit } from '../store/circuit.ts';

type Rejected = Pick<Responded, 'family' | 'status' | 'reason'>;

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
export class RejectedRequests {
  private readonly pool: pg.Pool;
  private readonly circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>;
  private readonly log: Log;
  private readonly timer: NodeJS.Timeout;
  private counts = new Map<string, Count>();
  private writing: Promise<void> | undefined;
  private failing = false;
  private cleanedAt = Number.NEGATIVE_INFINITY;

  constructor(pool: pg.Pool, circuit: Pick<Circuit, 'isOpen' | 'probeAfter'>, log: Log) {
    this.pool = pool;
    this.circuit = circuit;
    this.log = log;
    this.timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  readonly observer = {
    responded: (request: Rejected) => this.count(request),
    unrouted: (_req: unknown, status: number, reason: string) =>
      this.count({ family: 'none', status, reason }),
  } satisfies Observer;

  /** Writes the counts; after a failure they are written with the next ones. */
  async flush(): Promise<void> {
    if (this.writing) return this.writing;
    if (this.counts.size === 0 || this.circuit.isOpen) return;
    this.writing = this.write().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.writing;
    await this.flush();
  }

  private count({ family, status, reason = '' }: Rejected, now = Date.now()): void {
    if (status === 'aborted' || status < 400) return;
    const minute = now - (now % minuteMs);
    this.add({ minute: new Date(minute), family, status, reason, count: 1 });
  }

  private add(one: Count): void {
    const key = `${one.minute.getTime()} ${one.family} ${one.status} ${one.reason}`;
    const existing = this.counts.get(key);
    if (existing) existing.count += one.count;
    else if (this.counts.size < maxCounts) this.counts.set(key, one);
  }

  private async write(): Promise<void> {
    const counts = [...this.counts.values()];
    this.counts = new Map();
    const cleans = performance.now() - this.cleanedAt > cleanEveryMs;
    const column = <Name extends keyof Count>(name: Name) => counts.map((one) => one[name]);
    try {
      await this.pool.query({
        text: statement,
        values: [...(['minute', 'family', 'status', 'reason', 'count'] as const).map(column), cleans],
        query_timeout: timeoutMs,
      });
      if (cleans) this.cleanedAt = performance.now();
      this.failing = false;
    } catch (error) {
      for (const one of counts) this.add(one);
      // The circuit logs an outage.
      if (this.failing || (await this.circuit.probeAfter(error))) return;
      this.failing = true;
      this.log.warn({ err: error }, 'counts of rejected requests cannot be written; retrying');
    }
  }
}
