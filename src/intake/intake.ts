import type { z } from 'zod';
import type { Config } from '../config.ts';
import { type AnyEnvelope, envelopeSchema, type Family } from '../families/index.ts';
import type { Log } from '../log.ts';
import type { AppendResult, Delivery } from './delivery.ts';
import type { Drift } from './drift.ts';
import { identify, milliseconds } from './identity.ts';
import type { Inbox } from './inbox.ts';
import { parseCallback } from './parse-callback.ts';
import type { Quarantine } from './quarantine.ts';
import { Rejection, TenantNotAllowed } from './rejection.ts';

/** Called for each accepted callback. */
export interface IntakeObserver {
  received: (family: string, status: AppendResult, eventTimeMs: number) => void;
}

export interface IntakeDependencies {
  config: Pick<Config, 'paths'> & {
    authentication: Pick<Config['authentication'], 'allowedClientIds' | 'allowedBusinessIds'>;
  };
  families: readonly [Family, ...Family[]];
  inbox: Pick<Inbox, 'append'>;
  /** Without a fallback: for deliveries that are drained from there. */
  databaseInbox: Pick<Inbox, 'append'>;
  quarantine: Pick<Quarantine, 'keep'>;
  drift: Pick<Drift, 'observe'>;
  observe?: IntakeObserver | undefined;
  log: Log;
}

export interface Accepted {
  status: AppendResult;
  /** The delivery's. */
  id: string;
}

/** The result of a replay. */
export type Reassessment = { outcome: AppendResult; id: string } | { outcome: 'rejected'; reason: string };

/** From the bytes of a callback to a durable delivery or a recorded rejection. */
export class Intake {
  private readonly dependencies: IntakeDependencies;
  private readonly schema: z.ZodType<AnyEnvelope>;
  private readonly clients: ReadonlySet<string>;
  private readonly businesses: ReadonlySet<string>;

  constructor(dependencies: IntakeDependencies) {
    const { allowedClientIds, allowedBusinessIds } = dependencies.config.authentication;
    this.dependencies = dependencies;
    this.schema = envelopeSchema(dependencies.families);
    this.clients = new Set(allowedClientIds);
    this.businesses = new Set(allowedBusinessIds);
  }

  /**
   * Receives a callback at a family's registered path (service-interface section 4.5).
   *
   * @returns once the delivery is durable
   * @throws Rejection, once it is in the quarantine; TenantNotAllowed; Unavailable
   */
  receive(body: Buffer, family: Family): Promise<Accepted> {
    return this.recordRejection({ body, family: family.name }, async () => {
      const { delivery, envelope } = this.read(body, family);
      const status = await this.append(delivery, envelope);
      this.dependencies.observe?.received(family.name, status, milliseconds(envelope.event_time));
      return { status, id: delivery.id };
    });
  }

  /**
   * Validates a body of the quarantine again, with the current schemas. Its event decides about the family, not its path.
   *
   * @param options `dryRun`: stores nothing
   * @throws Unavailable
   */
  async replay(body: Buffer, { dryRun }: { dryRun: boolean }): Promise<Reassessment> {
    try {
      const { delivery, envelope } = this.read(body);
      const outcome = dryRun ? 'accepted' : await this.append(delivery, envelope);
      return { outcome, id: delivery.id };
    } catch (error) {
      if (error instanceof TenantNotAllowed) return { outcome: 'rejected', reason: error.message };
      if (!(error instanceof Rejection)) throw error;
      const faults = error.errors.map(({ path, message }) => `${path} ${message}`.trim());
      return { outcome: 'rejected', reason: faults.join('; ') || error.message };
    }
  }

  /**
   * Moves a delivery from the fallback store to the database. It was acknowledged: if PostgreSQL rejects its data, it
   * stays in the quarantine until an operator deletes it.
   *
   * @throws Unavailable
   */
  async drain({ id, family, body }: Delivery): Promise<void> {
    const { databaseInbox, log } = this.dependencies;
    await this.recordRejection({ body, family, acknowledged: true }, () =>
      databaseInbox.append({ id, family, body }),
    ).catch((error) => {
      if (!(error instanceof Rejection)) throw error;
      log.error(
        { delivery: id, reason: error.message },
        'PostgreSQL rejected an acknowledged delivery; it is in the quarantine',
      );
    });
  }

  private read(body: Buffer, expected?: Family): { delivery: Delivery; envelope: AnyEnvelope } {
    const envelope = parseCallback(body, this.schema, Date.now(), expected);
    this.checkTenant(envelope);
    const family =
      expected ?? this.dependencies.families.find(({ events }) => events.includes(envelope.event))!;
    return { delivery: { id: identify(envelope), family: family.name, body }, envelope };
  }

  private checkTenant({ client_id, business_id }: AnyEnvelope): void {
    if (this.clients.size > 0 && !this.clients.has(client_id)) throw new TenantNotAllowed('client_id');
    if (this.businesses.size > 0 && !this.businesses.has(business_id))
      throw new TenantNotAllowed('business_id');
  }

  private async append(delivery: Delivery, envelope: AnyEnvelope): Promise<AppendResult> {
    const status = await this.dependencies.inbox.append(delivery);
    this.dependencies.drift.observe(delivery.id, envelope);
    return status;
  }

  private async recordRejection<T>(
    { body, family, acknowledged = false }: { body: Buffer; family: string; acknowledged?: boolean },
    store: () => Promise<T>,
  ): Promise<T> {
    try {
      return await store();
    } catch (error) {
      if (error instanceof Rejection) {
        const { reason, errors } = error;
        const path = this.dependencies.config.paths[family] ?? family;
        await this.dependencies.quarantine.keep({ path, reason, errors, body, acknowledged });
      }
      throw error;
    }
  }
}
