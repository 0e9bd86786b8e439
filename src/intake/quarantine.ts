import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Log } from '../log.ts';
import { GroupCommit } from './group-commit.ts';
import { Unavailable } from './unavailable.ts';

/** A body that came in through the door, and why it was refused all the same. */
export interface Misfit {
  /** The registered path that it came in at. */
  path: string;
  reason: string;
  errors: readonly { path: string; message: string }[];
  body: Buffer;
  /** Set for what was answered 200 and refused by PostgreSQL afterwards: it is kept until a person deletes it. */
  acknowledged?: boolean;
}

export interface QuarantineOptions {
  pool: pg.Pool;
  log: Log;
  limits: { rows: number; bytes: number };
}

const statement = `
insert into quarantine (id, path, reason, errors, body, acknowledged, count)
select id, min(path), min(reason), min(errors)::jsonb, min(body)::bytea, bool_or(acknowledged), count(*)
from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[])
  as misfit(id, path, reason, errors, body, acknowledged)
group by id
order by id
on conflict (id) do update set
  count = quarantine.count + excluded.count, last_received_at = now(), replayed_at = null,
  reason = excluded.reason, errors = excluded.errors,
  acknowledged = quarantine.acknowledged or excluded.acknowledged`;

// What waits is worth more than what was replayed. What was acknowledged stays, and takes nobody's room.
const eviction = `
with ranked as (
  select id, row_number() over worth as rows, sum(length(body)) over worth as bytes
  from quarantine
  where not acknowledged
  window worth as (order by replayed_at is not null, last_received_at desc, id)
)
delete from quarantine using ranked
where quarantine.id = ranked.id and (ranked.rows > $1 or ranked.bytes > $2)`;

const evictEveryMs = 1_000;

/** Keeps what was refused, once per content, so that after a fix it can be taken in. */
export class Quarantine {
  private readonly options: QuarantineOptions;
  private readonly commits: GroupCommit<Misfit, undefined>;
  private evicting: Promise<void> | undefined;
  private lastEviction = Number.NEGATIVE_INFINITY;

  constructor(options: QuarantineOptions) {
    this.options = options;
    this.commits = new GroupCommit({
      commit: (misfits) => this.commit(misfits),
      isFaultOfAnItem: () => false,
      weigh: ({ body }) => body.length,
      maxWeight: 4 * 1024 * 1024,
      maxItems: 200,
      maxWaiting: 1_000,
      maxWaitingWeight: 32 * 1024 * 1024,
    });
  }

  /**
   * Resolves once the body is durable.
   *
   * @throws Unavailable where it cannot be kept now: the sender has to send it again
   */
  async keep(misfit: Misfit): Promise<void> {
    try {
      await this.commits.append(misfit);
    } catch (error) {
      throw new Unavailable(error);
    }
  }

  /** Resolves once everything that was given is durable. */
  async drained(): Promise<void> {
    await this.commits.drained();
    await this.evicting;
  }

  private async commit(misfits: Misfit[]): Promise<undefined[]> {
    await this.options.pool.query({
      name: 'quarantine',
      text: statement,
      values: [
        misfits.map(contentId),
        misfits.map(({ path }) => path),
        misfits.map(({ reason }) => reason),
        misfits.map(({ errors }) => JSON.stringify(errors)),
        misfits.map(({ body }) => `\\x${body.toString('hex')}`),
        misfits.map(({ acknowledged = false }) => acknowledged),
      ],
    });
    if (performance.now() - this.lastEviction > evictEveryMs) {
      this.lastEviction = performance.now();
      this.evicting = this.evict();
    }
    return misfits.map(() => undefined);
  }

  private async evict(): Promise<void> {
    const { pool, log, limits } = this.options;
    try {
      const { rowCount } = await pool.query(eviction, [limits.rows, limits.bytes]);
      if (rowCount)
        log.warn(
          { count: rowCount, limits },
          'the quarantine is full; bodies were dropped: replayed ones first, then the oldest',
        );
    } catch (error) {
      log.warn({ err: error }, 'the quarantine could not be trimmed; it is tried again');
    }
  }
}

/** The same body at the same path is the same row: a UUID (version 8) of both. */
function contentId({ path, body }: Misfit): string {
  const hash = createHash('sha256').update(`${path}\n`).update(body).digest('hex');
  const variant = (8 + (Number.parseInt(hash[16]!, 16) & 3)).toString(16);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
