import type { FieldError, Rejection } from './rejection.ts';

/** A callback that passed the access checks and was read: a row of `inbox`. */
export interface Delivery {
  /** A UUID of the event time and the content. */
  id: string;
  family: string;
  event: string;
  /** Empty: none is given, as for `businessId`. */
  clientId: string;
  businessId: string;
  /** The record of its family and business that it is about; its own id where it is a record of its own. */
  recordId: string;
  /** Its place among the callbacks of its record: texts that sort bytewise. */
  version: string;
  /** The time of its event, in milliseconds since 1970. */
  eventMs: number;
  /** Whom and which other records it names, see families/subjects.ts. */
  subjects: readonly string[];
  /** The callback as received, without secrets: JSON in UTF-8. */
  body: Buffer;
  /** JSON of what is merged; null: it is the `data` of the body. */
  data: string | null;
  /** When it was received, in microseconds since 1970. */
  receivedAt: number;
  /** When another database stored it, from which it is moved: SQL. */
  storedAt?: string;
}

/** What a record is found by. */
export type RecordKey = Pick<Delivery, 'family' | 'businessId' | 'recordId'>;

/** Two parameters of a statement: the businesses and the ids of records of a family. */
export const keysOf = (records: readonly Omit<RecordKey, 'family'>[]): [string[], string[]] => [
  records.map(({ businessId }) => businessId),
  records.map(({ recordId }) => recordId),
];

/** The columns of a row of inbox as a Delivery, whose body has the keys in PostgreSQL's order and all digits of its numbers. */
export const storedColumns = `id, family, event, client_id as "clientId", business_id as "businessId", record_id as "recordId",
  version, to_jsonb(extract(epoch from event_time) * 1000) as "eventMs", subjects,
  convert_to(envelope::text, 'UTF8') as body, data::text, to_jsonb(extract(epoch from received_at) * 1000000) as "receivedAt"`;

/** What the fallback store keeps of a delivery: the rest is read from its body again. */
export type SpilledDelivery = Pick<Delivery, 'id' | 'family' | 'body' | 'receivedAt'>;

/** `duplicate`: it was received before; `expired`: it is older than what its family keeps, and is not stored. */
export type ReceiveResult = 'accepted' | 'duplicate' | 'expired';

/** Raised while no store can keep a delivery: the sender has to send it again. */
export class Unavailable extends Error {
  /** The id of the delivery, where it could be read. */
  readonly delivery: string | undefined;
  constructor(cause: unknown, delivery?: string) {
    super('No store is available for the delivery.', { cause });
    this.name = new.target.name;
    this.delivery = delivery;
  }
}

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
