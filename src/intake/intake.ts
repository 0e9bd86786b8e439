import type pg from 'pg';
import { duplicates, notStored } from '../common/metrics.ts';
import { uuid } from '../common/uuid.ts';
import type { Config } from '../config/config.ts';
import { saysNothing } from '../families/event-time.ts';
import { type AnyEnvelope, type Family, patientsBeyond, takesEveryEvent } from '../families/index.ts';
import { DataRefused, type FieldError, Rejection, TenantNotAllowed } from '../receiver/intake/rejection.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import { byBothClocks, createDatabaseClock, type DatabaseClock } from '../receiver/store/clock.ts';
import { describeRefusal, isDamaged } from '../store/faults.ts';
import { type Delivery, NotStorable, type ReceiveResult, type Stored, Unavailable } from './delivery.ts';
import { createDrift } from './drift.ts';
import { eventTimeOf } from './identity.ts';
import { createInbox, type InboxOptions, type Place } from './inbox.ts';
import { createParser } from './parse-callback.ts';
import { createQuarantine, type RejectedBody } from './quarantine.ts';
import { EventInFuture } from './rejections.ts';
import { withoutSecrets } from './secrets.ts';

export interface IntakeOptions extends Pick<InboxOptions, 'fallback' | 'acknowledged' | 'log'> {
  config: Pick<Config, 'paths' | 'quarantine' | 'retention' | 'timeLimits'> & {
    authentication: Pick<Config['authentication'], 'allowedClientIds' | 'allowedBusinessIds'>;
  };
  families: readonly [Family, ...Family[]];
  pool: pg.Pool;
  circuit: Pick<Circuit, 'run' | 'isOpen' | 'timeoutMs'>;
  /** Connections for deliveries only. Default: `pool`. */
  inboxPool?: pg.Pool;
  /** PostgreSQL's clock. Default: read on demand. */
  clock?: Pick<DatabaseClock, 'current'>;
  /** Enqueues new deliveries. Default: the sweep finds them. */
  enqueue?: InboxOptions['enqueue'];
}

/** A registered path, and the family whose events it takes. */
export interface Route {
  family: Family;
  path: string;
}

export type Reassessment =
  | { outcome: ReceiveResult; id: string }
  | { outcome: 'rejected'; reason: string; errors: readonly FieldError[] };

export type Intake = ReturnType<typeof createIntake>;

/** From the bytes of a callback to a durable delivery or a recorded rejection. It opens no connections. */
export function createIntake(options: IntakeOptions) {
  const { config, families, pool, circuit, fallback, log, enqueue = async () => {} } = options;
  const { inboxPool = pool, clock = createDatabaseClock(inboxPool, circuit), acknowledged } = options;
  const inbox = createInbox({ pool: inboxPool, circuit, enqueue, fallback, acknowledged, log });
  const { databaseMs: timeoutMs } = config.timeLimits;
  const quarantine = createQuarantine({ pool, families, limits: config.quarantine, log, timeoutMs });
  const drift = createDrift(pool, log, families);
  const parse = createParser(families, (family) => whereOf(family, config.paths[family.name]));
  const clients = new Set(config.authentication.allowedClientIds);
  const businesses = new Set(config.authentication.allowedBusinessIds);

  /** An id that is missing is on no list. */
  const checkTenant = ({ client_id, business_id }: AnyEnvelope) => {
    if (clients.size > 0 && !clients.has(client_id ?? '')) throw new TenantNotAllowed('client_id');
    if (businesses.size > 0 && !businesses.has(business_id ?? '')) throw new TenantNotAllowed('business_id');
  };

  const read = (body: Buffer, expected?: Family) => {
    const { envelope, id, family } = parse(body, expected);
    checkTenant(envelope);
    const patients = patientsBeyond(envelope) ?? null;
    const safe = withoutSecrets(body, envelope.event);
    const isTimeDerived = saysNothing(envelope.event_time);
    return { delivery: { id, family: family.name, body: safe, patients, isTimeDerived }, envelope };
  };

  /**
   * Whether the time of an event lets it be stored, by both clocks. Only where this process's says no, PostgreSQL's is asked.
   *
   * @returns `unknown`: this process's clock says no, and PostgreSQL's is not known
   * @throws EventInFuture
   */
  const judgeTime = async ({ id, family }: Delivery): Promise<'expired' | 'unknown' | undefined> => {
    const judge = (nowMs: number) => faultOfTime(eventTimeOf(id), nowMs, config.retention[family]);
    const own = Date.now();
    const fault = judge(own) && byBothClocks(judge, own, await clock.current());
    if (fault === 'future') throw new EventInFuture();
    return fault;
  };

  /** Only the fallback store takes a delivery whose time cannot be judged now: the drain judges it. */
  const store = async (delivery: Delivery, to: Place = 'anywhere'): Promise<ReceiveResult> => {
    const fault = await judgeTime(delivery);
    if (fault === 'unknown' && !(fallback && to === 'anywhere'))
      throw new Unavailable(new Error("PostgreSQL's clock is not known."), delivery.id);
    const place = fault === 'unknown' ? 'fallback' : to;
    const result = fault === 'expired' ? fault : await inbox.append(delivery, place);
    if (!isStored(result)) notStored.inc({ family: delivery.family, reason: result });
    return result;
  };

  /** Resolves once the body is in the quarantine, if the error is a Rejection. @throws Unavailable */
  const recordRejection = async (error: unknown, body: Omit<RejectedBody, 'reason' | 'errors'>) => {
    if (!(error instanceof Rejection)) return;
    const { reason, errors } = error;
    await quarantine.keep({ ...body, reason, errors });
  };

  return {
    /**
     * Receives a callback at a registered path (service-interface section 4.5).
     *
     * @returns once the delivery is durable or is known not to be stored, with its id and event
     * @throws Rejection, once it is in the quarantine; TenantNotAllowed; Unavailable
     */
    receive: async (body: Buffer, { family, path }: Route) => {
      try {
        const { delivery, envelope } = read(body, family);
        const status = await store(delivery);
        if (isStored(status)) {
          drift.observe(delivery.id, envelope);
          if (status === 'duplicate') duplicates.inc({ family: delivery.family });
        }
        return { status, id: delivery.id, event: envelope.event };
      } catch (error) {
        await recordRejection(error, { body, family, path });
        throw error;
      }
    },

    /**
     * Validates a body of the quarantine again, with the current schemas. Its event decides about the family, not its path;
     * an event that no family lists is accepted if the path takes every event.
     *
     * @param options `dryRun`: stores nothing; `deliveryId`: see redactRejected
     * @throws Unavailable
     */
    replay: async (
      body: Buffer,
      path: string,
      { dryRun, deliveryId }: { dryRun: boolean; deliveryId?: string | null },
    ): Promise<Reassessment> => {
      const catchAll = families.find((one) => takesEveryEvent(one) && config.paths[one.name]?.includes(path));
      try {
        const { delivery, envelope } = read(body, catchAll);
        delivery.id = deliveryId ?? delivery.id;
        if (dryRun) {
          const isExpired = (await judgeTime(delivery)) === 'expired';
          return { outcome: isExpired ? 'expired' : 'accepted', id: delivery.id };
        }
        const outcome = await store(delivery);
        if (isStored(outcome)) drift.observe(delivery.id, envelope);
        return { outcome, id: delivery.id };
      } catch (error) {
        if (error instanceof TenantNotAllowed)
          return { outcome: 'rejected', reason: error.message, errors: [] };
        if (!(error instanceof Rejection)) throw error;
        return { outcome: 'rejected', reason: error.describe(), errors: error.errors };
      }
    },

    /** Stores a delivery that the receiver itself has made, in the database alone. @throws Unavailable; DataRefused */
    store: (delivery: Delivery) => store(delivery, 'database'),

    /** Stores a body in the quarantine, for a correction of one that is there. @throws Unavailable */
    quarantineBody: quarantine.keep,

    /**
     * Moves a delivery from the fallback store to the database. It was acknowledged: if PostgreSQL stores others and not
     * this one, or its event is in the future, it stays in the quarantine until an operator deletes it.
     *
     * @param options `isSpilled`: from the table spilled_deliveries. Where the page is still damaged, it stays there
     * @returns whether it is a row
     * @throws Unavailable (NotStorable: its page is damaged)
     */
    drain: async ({ id, family, body }: Delivery, { isSpilled = false } = {}): Promise<boolean> => {
      try {
        return isStored(await store({ id, family, body }, isSpilled ? 'inbox' : 'database'));
      } catch (cause) {
        if (cause instanceof NotStorable && isDamaged(cause.cause)) throw cause;
        const error = cause instanceof NotStorable ? new DataRefused(describeRefusal(cause.cause)) : cause;
        const path = config.paths[family]?.[0] ?? family;
        const known = families.find(({ name }) => name === family);
        // Somebody else's entry may have any id.
        const deliveryId = uuid.test(id) ? id : null;
        await recordRejection(error, { body, deliveryId, family: known, path, acknowledged: true });
        if (!(error instanceof Rejection)) throw error;
        log.limited(
          'error',
          { family, reason: error.name },
          error instanceof EventInFuture
            ? 'The event of an acknowledged delivery is more than a day in the future; it is in the quarantine'
            : 'PostgreSQL rejected an acknowledged delivery; it is in the quarantine',
          { delivery: id, error: error.message },
        );
        return false;
      }
    },

    /** Resolves once every received callback is durable and enqueued. */
    close: async (): Promise<void> => {
      await Promise.all([inbox.drained(), quarantine.close()]);
      await drift.close();
    },
  };
}

/** Where to send a family's events. A path that is not the documented one may be a secret. */
const whereOf = ({ path }: Family, paths: readonly string[] = []) =>
  paths.find((one) => path.default.includes(one)) ?? `the path of ${path.variable ?? 'EVENTS_PATH'}`;

const dayMs = 24 * 60 * 60 * 1000;

/**
 * What is wrong with the time of an event: `future`, because it would remain the newest until then; `expired`.
 *
 * @param keptMs the retention of its family
 */
export function faultOfTime(
  eventMs: number,
  nowMs: number,
  keptMs = Number.POSITIVE_INFINITY,
): 'future' | 'expired' | undefined {
  if (eventMs > nowMs + dayMs) return 'future';
  return eventMs < nowMs - keptMs ? 'expired' : undefined;
}

const isStored = (result: ReceiveResult): result is Stored => result === 'accepted' || result === 'duplicate';
