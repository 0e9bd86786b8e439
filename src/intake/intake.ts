import type pg from 'pg';
import type { Observer, Stored } from '../common/observer.ts';
import type { Config } from '../config/config.ts';
import { type AnyEnvelope, type Family, patientsBeyond, takesEveryEvent } from '../families/index.ts';
import { milliseconds } from '../families/times.ts';
import { describeRefusal } from '../store/faults.ts';
import { type Delivery, NotStorable, type ReceiveResult } from './delivery.ts';
import { Drift } from './drift.ts';
import { eventTimeOf } from './identity.ts';
import { Inbox, type InboxOptions } from './inbox.ts';
import { createParser, type ParseCallback } from './parse-callback.ts';
import { Quarantine, type RejectedBody } from './quarantine.ts';
import { DataRefused, type FieldError, Rejection, TenantNotAllowed } from './rejection.ts';

export interface IntakeOptions extends Pick<InboxOptions, 'circuit' | 'fallback' | 'log'> {
  config: Pick<Config, 'paths' | 'quarantine' | 'retention'> & {
    authentication: Pick<Config['authentication'], 'allowedClientIds' | 'allowedBusinessIds'>;
  };
  families: readonly [Family, ...Family[]];
  pool: pg.Pool;
  /** Connections for deliveries only. Default: `pool`. */
  inboxPool?: pg.Pool;
  /** Enqueues new deliveries. Default: the sweep finds them. */
  enqueue?: InboxOptions['enqueue'];
  observe?: Pick<Observer, 'received' | 'notStored' | 'evicted' | 'committed'> | undefined;
}

/** A registered path, and the family whose events it takes. */
export interface Route {
  family: Family;
  path: string;
}

export type Reassessment =
  | { outcome: ReceiveResult; id: string }
  | { outcome: 'rejected'; reason: string; errors: readonly FieldError[] };

/** From the bytes of a callback to a durable delivery or a recorded rejection. It opens no connections. */
export class Intake {
  private readonly options: IntakeOptions;
  private readonly inbox: Inbox;
  /** Without a fallback: for deliveries that are drained from there. */
  private readonly databaseInbox: Inbox;
  private readonly quarantine: Quarantine;
  private readonly drift: Drift;
  private readonly parse: ParseCallback;
  private readonly clients: ReadonlySet<string>;
  private readonly businesses: ReadonlySet<string>;

  constructor(options: IntakeOptions) {
    const { config, families, pool, circuit, fallback, observe, log, enqueue = async () => {} } = options;
    const common = { pool: options.inboxPool ?? pool, circuit, enqueue, observe, log };
    this.options = options;
    this.inbox = new Inbox({ ...common, fallback });
    this.databaseInbox = fallback ? new Inbox(common) : this.inbox;
    this.quarantine = new Quarantine({ pool, families, limits: config.quarantine, log, observe });
    this.drift = new Drift(pool, log, families);
    this.parse = createParser(families, (family) => whereOf(family, config.paths[family.name]));
    this.clients = new Set(config.authentication.allowedClientIds);
    this.businesses = new Set(config.authentication.allowedBusinessIds);
  }

  /**
   * Receives a callback at a registered path (service-interface section 4.5).
   *
   * @returns once the delivery is durable or is known not to be stored, with its id and event
   * @throws Rejection, once it is in the quarantine; TenantNotAllowed; Unavailable
   */
  async receive(body: Buffer, { family, path }: Route) {
    try {
      const { delivery, envelope } = this.read(body, family);
      const status = await this.store(delivery);
      if (isStored(status)) {
        this.drift.observe(delivery.id, envelope);
        this.options.observe?.received?.(delivery.family, status, milliseconds(envelope.event_time));
      }
      return { status, id: delivery.id, event: envelope.event };
    } catch (error) {
      await this.recordRejection(error, { body, family, path });
      throw error;
    }
  }

  /**
   * Validates a body of the quarantine again, with the current schemas. Its event decides about the family, not its path;
   * an event that no family lists is accepted if the path takes every event.
   *
   * @param options `dryRun`: stores nothing
   * @throws Unavailable
   */
  async replay(body: Buffer, path: string, { dryRun }: { dryRun: boolean }): Promise<Reassessment> {
    const { config, families } = this.options;
    const catchAll = families.find((one) => takesEveryEvent(one) && config.paths[one.name]?.includes(path));
    try {
      const { delivery, envelope } = this.read(body, catchAll);
      if (dryRun) return { outcome: this.isExpired(delivery) ? 'expired' : 'accepted', id: delivery.id };
      const outcome = await this.store(delivery);
      if (isStored(outcome)) this.drift.observe(delivery.id, envelope);
      return { outcome, id: delivery.id };
    } catch (error) {
      if (error instanceof TenantNotAllowed)
        return { outcome: 'rejected', reason: error.message, errors: [] };
      if (!(error instanceof Rejection)) throw error;
      return { outcome: 'rejected', reason: error.describe(), errors: error.errors };
    }
  }

  /** Stores a body in the quarantine, for a correction of one that is there. @throws Unavailable */
  async quarantineBody(body: RejectedBody): Promise<void> {
    await this.quarantine.keep(body);
  }

  /**
   * Moves a delivery from the fallback store to the database. It was acknowledged: if PostgreSQL stores others and not
   * this one, it stays in the quarantine until an operator deletes it.
   *
   * @throws Unavailable
   */
  async drain({ id, family, body }: Delivery): Promise<void> {
    try {
      await this.store({ id, family, body }, this.databaseInbox);
    } catch (cause) {
      const error = cause instanceof NotStorable ? new DataRefused(describeRefusal(cause.cause)) : cause;
      const { config, families } = this.options;
      const path = config.paths[family]?.[0] ?? family;
      const known = families.find(({ name }) => name === family);
      await this.recordRejection(error, { body, family: known, path, acknowledged: true });
      if (!(error instanceof Rejection)) throw error;
      this.options.log.limited(
        'error',
        { family, reason: error.name },
        'PostgreSQL rejected an acknowledged delivery; it is in the quarantine',
        { delivery: id, error: error.message },
      );
    }
  }

  /** Resolves once every received callback is durable and enqueued. */
  async close(): Promise<void> {
    await Promise.all([this.inbox.drained(), this.databaseInbox.drained(), this.quarantine.close()]);
    await this.drift.close();
  }

  private read(body: Buffer, expected?: Family): { delivery: Delivery; envelope: AnyEnvelope } {
    const { envelope, id, family } = this.parse(body, Date.now(), expected);
    this.checkTenant(envelope);
    const patients = patientsBeyond(envelope) ?? null;
    return { delivery: { id, family: family.name, body, patients }, envelope };
  }

  private async store(delivery: Delivery, inbox = this.inbox): Promise<ReceiveResult> {
    const result = this.isExpired(delivery) ? 'expired' : await inbox.append(delivery);
    if (!isStored(result)) this.options.observe?.notStored?.(delivery.family, result);
    return result;
  }

  private isExpired({ id, family }: Delivery): boolean {
    const keptMs = this.options.config.retention[family];
    return keptMs !== undefined && eventTimeOf(id) < Date.now() - keptMs;
  }

  /** An id that is missing is on no list. */
  private checkTenant({ client_id, business_id }: AnyEnvelope): void {
    if (this.clients.size > 0 && !this.clients.has(client_id ?? '')) throw new TenantNotAllowed('client_id');
    if (this.businesses.size > 0 && !this.businesses.has(business_id ?? ''))
      throw new TenantNotAllowed('business_id');
  }

  /** Resolves once the body is in the quarantine, if the error is a Rejection. @throws Unavailable */
  private async recordRejection(
    error: unknown,
    body: Pick<RejectedBody, 'body' | 'family' | 'path' | 'acknowledged'>,
  ): Promise<void> {
    if (!(error instanceof Rejection)) return;
    const { reason, errors } = error;
    await this.quarantine.keep({ ...body, reason, errors });
  }
}

/** Where to send a family's events. A path that is not the documented one may be a secret. */
const whereOf = ({ path }: Family, paths: readonly string[] = []) =>
  paths.find((one) => path.default.includes(one)) ?? `the path of ${path.variable}`;

const isStored = (result: ReceiveResult): result is Stored => result === 'accepted' || result === 'duplicate';
