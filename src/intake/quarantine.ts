import { createHash, randomBytes } from 'node:crypto';
import { timeLimits } from '../common/time-limits.ts';
import { uuidV8 } from '../common/uuid.ts';
import type { Family } from '../families/index.ts';
import { createGroupCommit, Overloaded } from '../receiver/intake/group-commit.ts';
import type { Rejection } from '../receiver/intake/rejection.ts';
import { createCircuit, StoreUnavailable } from '../receiver/store/circuit.ts';
import { reportOutage } from '../store/circuits.ts';
import { refusedAmong } from '../store/erasure-gate.ts';
import { isOutage } from '../store/faults.ts';
import { rolledBack } from '../store/rolled-back.ts';
import { Unavailable } from './delivery.ts';
import { createEviction, type EvictionOptions } from './eviction.ts';
import { redactRejected } from './secrets.ts';
import { envelopeOf, patientsNamedIn, subjectOfBody } from './subject-of-body.ts';

/** A body that passed the access checks and was rejected. */
export interface RejectedBody extends Pick<Rejection, 'reason' | 'errors'> {
  /** The registered path that received it. */
  path: string;
  family?: Family | undefined;
  body: Buffer;
  /** Acknowledged with 200 and rejected by PostgreSQL afterwards: it stays until an operator deletes it. */
  acknowledged?: boolean;
  /** The id of the rejected body that this one corrects. */
  corrects?: string;
  /** The id of its delivery, where the body itself does not tell. */
  deliveryId?: string | null;
}

/** A rejected body without secrets; its ids are made of the original. */
export type RedactedBody = RejectedBody & { id: string };

// A body about an erased patient is not stored.
const statement = `
with rejected as materialized (
  select id, path, reason, errors, body, acknowledged, family, envelope, corrects, patients, delivery_id
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::jsonb[], $9::text[],
              $10::jsonb[], $11::uuid[])
    as rejected(id, path, reason, errors, body, acknowledged, family, envelope, corrects, patients, delivery_id)
), ${refusedAmong('rejected')}
insert into quarantine (id, path, reason, errors, body, acknowledged, corrects, delivery_id, count)
select id, min(path), min(reason), min(errors)::jsonb, min(body)::bytea, bool_or(acknowledged), min(corrects)::uuid,
       min(delivery_id::text)::uuid, count(*)
from rejected
where id not in (select id from refused)
group by id
order by id
on conflict (id) do update set
  count = quarantine.count + excluded.count, last_received_at = now(), replayed_at = null,
  reason = excluded.reason, errors = excluded.errors,
  acknowledged = quarantine.acknowledged or excluded.acknowledged,
  corrects = coalesce(quarantine.corrects, excluded.corrects)`;

/** The statement that stores rejected bodies, except those that an erasure refuses. */
export function quarantineQuery(
  rejected: readonly RedactedBody[],
  families: readonly Family[],
  timeoutMs = timeLimits().databaseMs,
) {
  const subjects = rejected.map(({ body, family }) => subjectOfBody(body, families, family));
  return {
    text: statement,
    query_timeout: timeoutMs,
    values: [
      rejected.map(({ id }) => id),
      rejected.map(({ path }) => path),
      rejected.map(({ reason }) => reason),
      rejected.map(({ errors }) => JSON.stringify(errors)),
      rejected.map(({ body }) => `\\x${body.toString('hex')}`),
      rejected.map(({ acknowledged = false }) => acknowledged),
      subjects.map(({ family }) => family),
      subjects.map((subject) => JSON.stringify(envelopeOf(subject, families))),
      rejected.map(({ corrects }) => corrects),
      rejected.map(({ body }) => JSON.stringify(patientsNamedIn(body))),
      rejected.map(({ deliveryId }) => deliveryId),
    ],
  };
}

/** Stores rejected bodies, once per content, to be replayed after a fix. */
export function createQuarantine(
  options: EvictionOptions & { families: readonly Family[]; timeoutMs?: number },
) {
  const { pool, families, log, timeoutMs = timeLimits().databaseMs } = options;
  const eviction = createEviction(options);

  /** Stores a known-good body, in a transaction that is rolled back. @throws the database's error */
  const probe = async (): Promise<void> => {
    const errors = [{ path: '', message: 'sample' }];
    const sample = { path: '/sample', reason: 'invalid', errors, body: randomBytes(16) } as const;
    await rolledBack(pool, async (client) => {
      await client.query(quarantineQuery([redact(sample)], families, timeoutMs));
    });
  };

  // The circuit of this table: where it cannot be written, deliveries are stored nevertheless.
  const circuit = createCircuit({
    store: 'quarantine',
    timeoutMs,
    probe,
    isOutage,
    onChange: reportOutage('quarantine', { log }),
  });

  const commit = async (rejected: RedactedBody[]) => {
    await pool.query(quarantineQuery(rejected, families, timeoutMs));
    eviction.added(rejected.map(({ body }) => body.length));
    return rejected.map(() => undefined);
  };
  const commits = createGroupCommit({
    commit: (rejected: RedactedBody[]) => circuit.run(() => commit(rejected)),
    weigh: ({ body }) => body.length,
    maxWeight: 4 * 1024 * 1024,
    maxItems: 200,
    maxWaiting: 1_000,
    maxWaitingWeight: 32 * 1024 * 1024,
  });

  /** Resolves once every body is durable. */
  const drained = async (): Promise<void> => {
    await commits.drained();
    await eviction.done();
  };

  return {
    /** Resolves once the body is durable. @throws Unavailable */
    keep: async (rejected: RejectedBody): Promise<void> => {
      try {
        await commits.append(redact(rejected));
      } catch (error) {
        if (!(error instanceof Overloaded || error instanceof StoreUnavailable))
          log.limited('error', {}, 'a rejected body could not be stored', { err: error });
        throw new Unavailable(error);
      }
    },
    probe,
    drained,
    close: async (): Promise<void> => {
      await drained();
      circuit.stop();
    },
  };
}

function redact(rejected: RejectedBody): RedactedBody {
  const { body, deliveryId } = redactRejected(rejected.body);
  return { ...rejected, id: quarantineId(rejected), body, deliveryId: rejected.deliveryId ?? deliveryId };
}

/** The same body at the same path is the same row: a UUID (version 8) of both. */
export function quarantineId({ path, body }: Pick<RejectedBody, 'path' | 'body'>): string {
  const hash = createHash('sha256').update(`${path}\n`).update(body).digest('hex');
  return uuidV8(hash.slice(0, 12), hash.slice(13));
}
