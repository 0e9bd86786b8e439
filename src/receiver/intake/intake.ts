import pg from 'pg';
import type { Delivery, SpilledDelivery } from '../../callbacks/delivery.ts';
import { type Family, takesEveryEvent } from '../../callbacks/families/family.ts';
import { createReadCallback, type ReadOptions, type ReadResult } from '../../callbacks/read-callback.ts';
import {
  DataRefused,
  type FieldError,
  InvalidCallback,
  Rejection,
  TenantNotAllowed,
} from '../../callbacks/rejection.ts';
import type { Config } from '../../common/config/config.ts';
import type { Log } from '../../common/log.ts';
import { storeDeliveries } from '../gate/gate.ts';
import { commitSeconds, duplicates, notStored } from '../metrics.ts';
import { type Circuit, StoreUnavailable } from '../store/circuit.ts';
import { byBothClocks, type DatabaseClock } from '../store/clock.ts';
import { describeError, faultOf, Unavailable } from '../store/errors.ts';
import { createDrift } from './drift.ts';
import { createGroupCommit, Overloaded } from './group-commit.ts';
import { createQuarantine } from './quarantine-body.ts';

/** `duplicate`: it was received before; `expired`: it is older than what its family keeps, and is not stored. */
export type ReceiveResult = 'accepted' | 'duplicate' | 'expired';

/** A registered path (service-interface section 4.5). */
export interface Route {
  path: string;
  /** The family whose events it takes. */
  family: string;
}

export type ReplayResult =
  | { outcome: ReceiveResult; id: string }
  | { outcome: 'rejected'; reason: string; errors: readonly FieldError[] };

/** From the bytes of a callback to a durable delivery, or to a rejection in the quarantine. */
export interface Intake {
  /**
   * @returns once the delivery is durable, or is known not to be stored
   * @throws Rejection, once it is in the quarantine; TenantNotAllowed; Unavailable
   */
  receive: (body: Buffer, route: Route) => Promise<{ status: ReceiveResult; id: string }>;
  /** Puts a body in the quarantine that is refused before it is read. @returns the rejection @throws Unavailable */
  reject: (rejection: Rejection, body: Buffer, route: Route) => Promise<Rejection>;
  /**
   * Stores a delivery of the fallback store in the database. What cannot be stored goes to the quarantine, as acknowledged.
   *
   * @throws Unavailable while the database cannot tell: it stays in the fallback store
   */
  drain: (delivery: SpilledDelivery) => Promise<void>;
  /**
   * Receives a body of the quarantine again, with the current families. Its event decides about the family, not its path.
   *
   * @param options `receivedAt`: when it arrived, in microseconds since 1970; default: now
   * @throws Unavailable
   */
  replay: (
    body: Buffer,
    path: string,
    options: { dryRun: boolean; receivedAt?: number },
  ) => Promise<ReplayResult>;
  /** Writes the counts of differences from the documents. */
  flush: () => Promise<void>;
  /** Resolves once everything that was received is durable. */
  close: () => Promise<void>;
}

export interface IntakeOptions {
  config: Config;
  families: readonly Family[];
  pool: pg.Pool;
  circuit: Pick<Circuit, 'run' | 'timeoutMs'>;
  clock: Pick<DatabaseClock, 'current'>;
  /** Keeps deliveries while PostgreSQL is unavailable. @throws where they are not surely kept */
  fallback?: { append: (deliveries: SpilledDelivery[]) => Promise<void> } | undefined;
  /** Told of new deliveries; it must not throw. */
  onStored: (deliveries: readonly Delivery[]) => void;
  log: Log;
}

// PostgreSQL takes no byte order mark.
const withoutMark = (body: Buffer) => (body.subarray(0, 3).equals(mark) ? body.subarray(3) : body);
const mark = Buffer.from('\ufeff');
const dayMs = 24 * 60 * 60 * 1000;
// They depend on other rows: a constraint that somebody has added.
const ofOtherRows = new Set(['23503', '23505', '23P01']);

/** From the bytes of a callback to a durable delivery, or to a rejection in the quarantine. It opens no connection. */
export function createIntake(options: IntakeOptions): Intake {
  const { config, families, pool, circuit, clock, fallback, onStored, log } = options;
  const quarantine = createQuarantine({ pool, families, circuit, log });
  const drift = createDrift(pool, log, families);
  const byName = new Map(families.map((family) => [family.name, family]));
  const readCallback = createReadCallback(families);
  const clients = new Set(config.authentication.allowedClientIds);
  const businesses = new Set(config.authentication.allowedBusinessIds);

  /** An id that is missing is on no list. */
  const checkTenant = ({ clientId, businessId }: Delivery) => {
    if (clients.size > 0 && !clients.has(clientId)) throw new TenantNotAllowed('client_id');
    if (businesses.size > 0 && !businesses.has(businessId)) throw new TenantNotAllowed('business_id');
  };

  let lastReceived = 0;
  /** In microseconds since 1970: the later of two of this process is the greater. */
  const arrival = () => {
    lastReceived = Math.max(
      lastReceived + 1,
      Math.floor((performance.timeOrigin + performance.now()) * 1000),
    );
    return lastReceived;
  };

  const read = (body: Buffer, options: ReadOptions): ReadResult => {
    const result = readCallback(body, options);
    checkTenant(result.delivery);
    return result;
  };

  /**
   * Whether the time of an event lets it be stored, by both clocks. Only where this process's says no, PostgreSQL's is asked.
   *
   * @returns `unknown`: this process's clock says no, and PostgreSQL's is not known, or does not say whether the record is stored
   * @throws InvalidCallback: no earlier event could replace what one of the future makes
   */
  const judgeTime = async (delivery: Delivery): Promise<'expired' | 'unknown' | undefined> => {
    const { eventMs, family } = delivery;
    const keptMs = config.retention[family] ?? Number.POSITIVE_INFINITY;
    const judge = (nowMs: number) => {
      if (eventMs > nowMs + dayMs) return 'future';
      return eventMs < nowMs - keptMs ? 'expired' : undefined;
    };
    const own = Date.now();
    const fault = judge(own) && byBothClocks(judge, own, await clock.current());
    if (fault === 'future')
      throw InvalidCallback.at('/event_time', 'must not be more than a day in the future');
    return fault && isOfRecord(delivery);
  };

  /** A record goes as a whole, once its newest event is too old: until then it takes late callbacks. */
  const isOfRecord = async ({ businessId, family, recordId }: Delivery) => {
    const text = `select from receiver.inbox where business_id = $1 and family = $2 and record_id = $3 limit 1`;
    const values = [businessId, family, recordId];
    return pool.query({ text, values, query_timeout: circuit.timeoutMs }).then(
      ({ rowCount }) => (rowCount === 1 ? undefined : 'expired'),
      () => 'unknown' as const,
    );
  };

  const insert = async (deliveries: Delivery[]): Promise<ReceiveResult[]> => {
    const end = commitSeconds.startTimer({ store: 'postgresql' });
    const results = await storeDeliveries(pool, families, deliveries, circuit.timeoutMs);
    end();
    onStored(deliveries.filter((_, index) => results[index] === 'accepted'));
    return results;
  };

  /** @throws StoreUnavailable, or the error of the deliveries */
  const commit = async (deliveries: Delivery[], to: 'anywhere' | 'database' | 'fallback') => {
    try {
      if (to === 'fallback') throw new StoreUnavailable('PostgreSQL');
      return await circuit.run(() => insert(deliveries));
    } catch (error) {
      if (!fallback || to === 'database' || !(error instanceof StoreUnavailable)) throw error;
      const end = commitSeconds.startTimer({ store: 'redis' });
      await fallback.append(
        deliveries.map(({ id, family, body, receivedAt }) => ({ id, family, body, receivedAt })),
      );
      end();
      return deliveries.map((): ReceiveResult => 'accepted');
    }
  };

  const commitsTo = (to: 'anywhere' | 'database' | 'fallback') =>
    createGroupCommit<Delivery, ReceiveResult>({
      commit: (deliveries) => commit(deliveries, to),
      weigh: ({ body }) => body.length,
      maxWeight: 4 * 1024 * 1024,
      maxItems: 500,
      maxWaiting: 5_000,
      maxWaitingWeight: 64 * 1024 * 1024,
    });
  const commits = {
    anywhere: commitsTo('anywhere'),
    database: commitsTo('database'),
    fallback: commitsTo('fallback'),
  };

  /**
   * Only the fallback takes a delivery whose time cannot be judged now: the drain judges it.
   *
   * @throws Unavailable; DataRefused, InvalidCallback
   */
  const store = async (delivery: Delivery, to: 'anywhere' | 'database'): Promise<ReceiveResult> => {
    const { id, family } = delivery;
    const fault = await judgeTime(delivery);
    if (fault === 'expired') {
      notStored.inc({ family, reason: fault });
      return fault;
    }
    if (fault === 'unknown' && !(fallback && to === 'anywhere'))
      throw new Unavailable(new Error('PostgreSQL’s clock is not known.'), id);
    try {
      return await commits[fault === 'unknown' ? 'fallback' : to].append(delivery);
    } catch (error) {
      const { code = '' } = error as { code?: string };
      const reason = describeError(error);
      if (faultOf(error) === 'refusal' && !ofOtherRows.has(code)) throw new DataRefused(reason);
      if (!(error instanceof StoreUnavailable || error instanceof Overloaded)) {
        const details = { err: error, delivery: id };
        log.limited('error', { family, code }, 'a delivery could not be stored', details);
        if (await countUnstored(pool, id, error, reason, circuit.timeoutMs)) throw new DataRefused(reason);
      }
      throw new Unavailable(error, id);
    }
  };

  /** Puts a rejected body in the quarantine. @throws the error itself where it is no rejection; Unavailable */
  const keepRejected = async (
    error: unknown,
    body: Buffer,
    route: Route,
    acknowledged = false,
  ): Promise<Rejection> => {
    if (!(error instanceof Rejection)) throw error;
    const { reason, errors } = error;
    await quarantine.keep({ ...route, reason, errors, body, acknowledged });
    return error;
  };

  return {
    receive: async (given, route) => {
      const body = withoutMark(given);
      try {
        const { delivery, callback, unfitFields } = read(body, {
          expected: byName.get(route.family),
          receivedAt: arrival(),
        });
        const status = await store(delivery, 'anywhere');
        if (status === 'duplicate') duplicates.inc({ family: delivery.family });
        if (status === 'accepted') drift.observe(delivery.id, callback, unfitFields);
        return { status, id: delivery.id };
      } catch (error) {
        throw await keepRejected(error, body, route);
      }
    },

    reject: keepRejected,

    replay: async (body, path, { dryRun, receivedAt = arrival() }) => {
      const catchAll = families.find((one) => takesEveryEvent(one) && config.paths[one.name]?.includes(path));
      try {
        const { delivery, callback, unfitFields } = read(withoutMark(body), {
          expected: catchAll,
          receivedAt,
        });
        if (dryRun) {
          const isExpired = (await judgeTime(delivery)) === 'expired';
          return { outcome: isExpired ? 'expired' : 'accepted', id: delivery.id };
        }
        const outcome = await store(delivery, 'database');
        if (outcome === 'accepted') drift.observe(delivery.id, callback, unfitFields);
        return { outcome, id: delivery.id };
      } catch (error) {
        if (error instanceof TenantNotAllowed)
          return { outcome: 'rejected', reason: error.message, errors: [] };
        if (!(error instanceof Rejection)) throw error;
        return { outcome: 'rejected', reason: error.describe(), errors: error.errors };
      }
    },

    drain: async ({ id, family, body, receivedAt }) => {
      const known = byName.get(family);
      const path = config.paths[family]?.[0] ?? family;
      try {
        const expected = known && takesEveryEvent(known) ? known : undefined;
        const { delivery } = read(body, { expected, receivedAt, id });
        await store(delivery, 'database');
      } catch (error) {
        // It was acknowledged: a client that is no longer allowed is no reason to lose it.
        const rejection = error instanceof TenantNotAllowed ? new Rejection('invalid', error.message) : error;
        const { name } = await keepRejected(rejection, body, { path, family }, true);
        log.error(
          { delivery: id, family, reason: name },
          'an acknowledged delivery cannot be stored; it is in the quarantine',
        );
      }
    },

    flush: drift.flush,

    close: async () => {
      await Promise.all([...Object.values(commits), quarantine].map(({ drained }) => drained()));
      await drift.close();
    },
  };
}

const unstored = `
insert into receiver.counters as c (name, key, count, first_at, last_at, example)
values ('unstored', $1::uuid || ' ' || $2, 1, now(), now(), $1)
on conflict (name, key) do update set count = c.count + 1, last_at = now()
returning first_at < now() - interval '6 hours' as "isOld"`;

/**
 * Counts that a delivery could not be stored, for the check `unstored`.
 *
 * @param reason without values
 * @returns whether PostgreSQL itself has refused it for hours: then a person has to look at it
 */
const countUnstored = (pool: pg.Pool, id: string, error: unknown, reason: string, timeoutMs: number) =>
  pool.query<{ isOld: boolean }>({ text: unstored, values: [id, reason], query_timeout: timeoutMs }).then(
    ({ rows }) => rows[0]!.isOld && error instanceof pg.DatabaseError,
    () => false,
  );
