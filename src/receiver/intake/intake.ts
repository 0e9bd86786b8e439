import type { Delivery, SpilledDelivery } from '../../callbacks/delivery.ts';
import { takesEveryEvent } from '../../callbacks/families/family.ts';
import { createReadCallback } from '../../callbacks/read-callback.ts';
import { Rejection, TenantNotAllowed } from '../../callbacks/rejection.ts';
import type { AccessRules } from '../../common/config/config.ts';
import { duplicates, notStored } from '../metrics.ts';
import { Unavailable } from '../store/errors.ts';
import { createDrift } from './drift.ts';
import { createQuarantine, type Route } from './quarantine-body.ts';
import {
  createDeliveryStore,
  type IntakeOptions,
  type ListRecent,
  type ReceiveResult,
  type StoreResult,
} from './store-delivery.ts';

export type ReplayResult =
  | { outcome: StoreResult; id: string }
  | { outcome: 'rejected'; rejection: Rejection };

/** From the bytes of a callback to a durable delivery, or to a rejection in the quarantine. */
export interface Intake {
  /**
   * @returns once the delivery is durable, or is known not to be stored
   * @throws Rejection, once it is in the quarantine; TenantNotAllowed; Unavailable
   */
  receive: (body: Buffer, route: Route) => Promise<{ status: ReceiveResult; id: string }>;
  /** @returns the rejection, once the body, which was not read, is in the quarantine @throws Unavailable */
  reject: (rejection: Rejection, body: Buffer, route: Route) => Promise<Rejection>;
  /** What cannot be stored goes to the quarantine, as acknowledged. @throws Unavailable: it stays in the fallback store */
  drain: (delivery: SpilledDelivery) => Promise<void>;
  /**
   * Receives a body of the quarantine again. Its event decides about the family, not its path.
   *
   * @param options `family`: that of its path; `receivedAt` in microseconds since 1970; default: now
   * @throws Unavailable
   */
  replay: (
    body: Buffer,
    options: { dryRun: boolean; family: string; receivedAt?: number },
  ) => Promise<ReplayResult>;
  listRecent: ListRecent;
  /** Resolves once everything that was received is durable. */
  close: () => Promise<void>;
}

export function createIntake(options: IntakeOptions): Intake {
  const { config, families, pool, clock, log } = options;
  const familyNamed = new Map(families.map((family) => [family.name, family]));
  const readCallback = createReadCallback(families);
  const checkTenant = createTenantCheck(config.authentication);
  const { store, listRecent, drained } = createDeliveryStore(options);
  const keepRejected = createQuarantine(options);
  /** The path of a callback that is read again may be gone: its event decides, but for one that no family lists. */
  const everyEventOf = (name: string) =>
    families.filter(takesEveryEvent).find((family) => family.name === name);
  const drift = createDrift(pool, log);

  return {
    receive: async (body, route) => {
      try {
        const expected = familyNamed.get(route.family);
        const receivedAt = nextArrival();
        const received = readCallback(body, { expected, receivedAt });
        const { id, family } = received.delivery;
        checkTenant(received.delivery);
        const result = await store(received.delivery, 'anywhere');
        if (result === 'duplicate') duplicates.inc({ family });
        if (result === 'expired') notStored.inc({ family, reason: result });
        if (result === 'accepted') drift.observe(received);
        return { status: result === 'spilled' ? 'accepted' : result, id };
      } catch (error) {
        throw error instanceof Rejection ? await keepRejected(error, body, route) : error;
      }
    },

    reject: keepRejected,
    listRecent,

    replay: async (body, { dryRun, family, receivedAt = nextArrival() }) => {
      try {
        const expected = everyEventOf(family);
        const received = readCallback(body, { expected, receivedAt });
        checkTenant(received.delivery);
        const outcome = await store(received.delivery, dryRun ? 'nowhere' : 'database');
        if (outcome === 'accepted' && !dryRun) drift.observe(received);
        return { outcome, id: received.delivery.id };
      } catch (error) {
        return { outcome: 'rejected', rejection: rejectionOf(error) };
      }
    },

    drain: async ({ id, family, body, receivedAt }) => {
      // It judges what was spilled while one clock alone was there.
      if (clock.now() === undefined) throw new Unavailable(new Error('PostgreSQL’s clock is not known.'), id);
      try {
        const expected = everyEventOf(family);
        const received = readCallback(body, { expected, receivedAt, id });
        checkTenant(received.delivery);
        const result = await store(received.delivery, 'database');
        if (result === 'expired') notStored.inc({ family: received.delivery.family, reason: result });
        if (result === 'accepted') drift.observe(received);
      } catch (error) {
        // It was acknowledged: a client that is no longer allowed is no reason to lose it.
        const rejection = rejectionOf(error);
        await keepRejected(rejection, body, { path: config.paths[family]?.[0] ?? family, family }, true);
        const details = { delivery: id, family, reason: rejection.name };
        log.error(details, 'an acknowledged delivery cannot be stored; it is in the quarantine');
      }
    },

    close: async () => {
      await drained();
      await drift.close();
    },
  };
}

function createTenantCheck(rules: AccessRules): (delivery: Delivery) => void {
  const clients = new Set(rules.allowedClientIds);
  const businesses = new Set(rules.allowedBusinessIds);
  return ({ clientId, businessId }) => {
    // An id that is missing is on no list.
    if (clients.size > 0 && !clients.has(clientId)) throw new TenantNotAllowed('client_id');
    if (businesses.size > 0 && !businesses.has(businessId)) throw new TenantNotAllowed('business_id');
  };
}

/** @throws an error that is no fault of the body */
function rejectionOf(error: unknown): Rejection {
  if (error instanceof TenantNotAllowed) return new Rejection('invalid', error.message);
  if (error instanceof Rejection) return error;
  throw error;
}

let lastArrival = 0;

/** Now, in microseconds since 1970: the later of two of this process is the greater, unless the clock was set back. */
function nextArrival(): number {
  const now = Date.now() * 1000;
  lastArrival = lastArrival > now + 1_000_000 ? now : Math.max(lastArrival + 1, now);
  return lastArrival;
}
