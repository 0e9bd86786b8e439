import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Family } from '../families/index.ts';
import type { Log } from '../log.ts';
import { uuidV8 } from '../uuid.ts';
import { Unavailable } from './delivery.ts';
import { GroupCommit } from './group-commit.ts';
import { refusedAmong } from './refused.ts';
import type { Rejection } from './rejection.ts';
import { envelopeOf, subjectOfBody } from './subject-of-body.ts';

/** A body that passed the access checks and was rejected. */
export interface RejectedBody extends Pick<Rejection, 'reason' | 'errors'> {
  /** The registered path that received it. */
  path: string;
  /** The family of the path. */
  family?: Family | undefined;
  body: Buffer;
  /** Acknowledged with 200 and rejected by PostgreSQL afterwards: it stays until an operator deletes it. */
  acknowledged?: boolean;
  /** The id of the rejected body that this one corrects. */
  corrects?: string;
}

export interface QuarantineOptions {
  pool: pg.Pool;
  families: readonly Family[];
  log: Log;
  limits: { rows: number; bytes: number };
}

// A body about an erased patient is not stored.
const statement = `
with rejected as materialized (
  select *
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::jsonb[], $9::text[])
    as rejected(id, path, reason, errors, body, acknowledged, family, envelope, corrects)
), ${refusedAmong('rejected')}
insert into quarantine (id, path, reason, errors, body, acknowledged, corrects, count)
select id, min(path), min(reason), min(errors)::jsonb, min(body)::bytea, bool_or(acknowledged), min(corrects)::uuid, count(*)
from rejected
where id not in (select id from refused)
group by id
order by id
on conflict (id) do update set
  count = quarantine.count + excluded.count, last_received_at = now(), replayed_at = null,
  reason = excluded.reason, errors = excluded.errors,
  acknowledged = quarantine.acknowledged or excluded.acknowledged,
  corrects = coalesce(quarantine.corrects, excluded.corrects)`;

// Evicts replayed bodies first, then the oldest. Acknowledged bodies stay and do not count.
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

/** Stores rejected bodies, once per content, to be replayed after a fix. */
export class Quarantine {
  private readonly options: QuarantineOptions;
  private readonly commits: GroupCommit<RejectedBody, undefined>;
  private evicting: Promise<void> | undefined;
  private lastEviction = Number.NEGATIVE_INFINITY;

  constructor(options: QuarantineOptions) {
    this.options = options;
    this.commits = new GroupCommit({
      commit: (rejected) => this.commit(rejected),
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
   * @throws Unavailable
   */
  async keep(rejected: RejectedBody): Promise<void> {
    try {
      await this.commits.append(rejected);
    } catch (error) {
      throw new Unavailable(error);
    }
  }

  /** Resolves once every body is durable. */
  async drained(): Promise<void> {
    await this.commits.drained();
    await this.evicting;
  }

  private async commit(rejected: RejectedBody[]): Promise<undefined[]> {
    const { families } = this.options;
    const subjects = rejected.map(({ body, family }) => subjectOfBody(body, families, family));
    await this.options.pool.query({
      text: statement,
      values: [
        rejected.map(quarantineId),
        rejected.map(({ path }) => path),
        rejected.map(({ reason }) => reason),
        rejected.map(({ errors }) => JSON.stringify(errors)),
        rejected.map(({ body }) => `\\x${body.toString('hex')}`),
        rejected.map(({ acknowledged = false }) => acknowledged),
        subjects.map(({ family }) => family),
        subjects.map((subject) => JSON.stringify(envelopeOf(subject, families))),
        rejected.map(({ corrects }) => corrects),
      ],
    });
    if (performance.now() - this.lastEviction > evictEveryMs) {
      this.lastEviction = performance.now();
      this.evicting = this.evict();
    }
    return rejected.map(() => undefined);
  }

  private async evict(): Promise<void> {
    const { pool, log, limits } = this.options;
    try {
      const { rowCount } = await pool.query(eviction, [limits.rows, limits.bytes]);
      if (rowCount)
        log.limited(
          'warn',
          {},
          'quarantine full; bodies dropped: replayed ones first, then the oldest',
          { count: rowCount, limits },
          rowCount,
        );
    } catch (error) {
      log.limited('warn', {}, 'eviction from the quarantine failed; retrying', { err: error });
    }
  }
}

/** The same body at the same path is the same row: a UUID (version 8) of both. */
export function quarantineId({ path, body }: Pick<RejectedBody, 'path' | 'body'>): string {
  const hash = createHash('sha256').update(`${path}\n`).update(body).digest('hex');
  return uuidV8(hash.slice(0, 12), hash.slice(13));
}
