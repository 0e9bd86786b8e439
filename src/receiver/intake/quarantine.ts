import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Log } from '../../common/log.ts';
import { uuidV8 } from '../../common/uuid.ts';
import { keyText } from '../families/field.ts';
import { type Circuit, StoreUnavailable } from '../store/circuit.ts';
import { Unavailable } from './delivery.ts';
import { createGroupCommit, Overloaded } from './group-commit.ts';
import type { FieldError, QuarantineReason } from './rejection.ts';
import { rejectedWithoutSecrets } from './secrets.ts';

/** A body that passed the access checks and was rejected. */
export interface RejectedBody {
  /** The registered path that received it. */
  path: string;
  /** That of the path. */
  family: string;
  reason: QuarantineReason;
  errors: readonly FieldError[];
  body: Buffer;
  /** Acknowledged with 200 before: it stays until somebody drops it. */
  acknowledged: boolean;
}

const statement = `
insert into receiver.quarantine as q (id, path, family, business_id, reason, errors, body, acknowledged, count)
select id, min(path), min(family), min(business_id), min(reason), min(errors::text)::jsonb, decode(min(body), 'hex'), bool_or(acknowledged), count(*)
from jsonb_to_recordset($1::jsonb) as rejected(id uuid, path text, family text, business_id text, reason text, errors jsonb, body text, acknowledged boolean)
-- An erasure has withheld the same body.
where not exists (select from receiver.erased where hash = receiver.hash_of('d:' || id))
group by id order by id
on conflict (id) do update set
  count = q.count + excluded.count, last_received_at = now(), replayed_at = null, reason = excluded.reason,
  errors = excluded.errors, acknowledged = q.acknowledged or excluded.acknowledged`;

/** Keeps rejected bodies, once per path and content, to be replayed after a fix. */
export function createQuarantine({
  pool,
  circuit,
  log,
}: {
  pool: pg.Pool;
  circuit: Pick<Circuit, 'run' | 'timeoutMs'>;
  log: Log;
}) {
  const commits = createGroupCommit({
    commit: async (rejected: RejectedBody[]) => {
      const rows = rejected.map((one) => {
        const body = rejectedWithoutSecrets(one.body).toString('hex');
        return { ...one, id: quarantineId(one), business_id: businessOf(one.body), body };
      });
      const query = { text: statement, query_timeout: circuit.timeoutMs, values: [JSON.stringify(rows)] };
      await circuit.run(() => pool.query(query));
      return rejected.map(() => undefined);
    },
    weigh: ({ body }) => body.length,
    maxWeight: 4 * 1024 * 1024,
    maxItems: 200,
    maxWaiting: 1_000,
    maxWaitingWeight: 32 * 1024 * 1024,
  });
  return {
    /** Resolves once the body is durable. @throws Unavailable */
    keep: async (rejected: RejectedBody): Promise<void> => {
      try {
        await commits.append(rejected);
      } catch (err) {
        if (!(err instanceof Overloaded || err instanceof StoreUnavailable))
          log.limited('error', {}, 'a rejected body could not be stored', { err });
        throw new Unavailable(err);
      }
    },
    drained: commits.drained,
  };
}

/** The business that a body names, as far as it can be read. */
function businessOf(body: Buffer): string | null {
  try {
    const id = keyText({ kind: 'text' }, JSON.parse(body.toString()).business_id);
    return id?.replaceAll('\0', '').toWellFormed() ?? null;
  } catch {
    return null;
  }
}

/** The same body at the same path is the same row. */
function quarantineId({ path, body }: Pick<RejectedBody, 'path' | 'body'>): string {
  const hash = createHash('sha256').update(`${path}\n`).update(body).digest('hex');
  return uuidV8(hash.slice(0, 12), hash.slice(13));
}
