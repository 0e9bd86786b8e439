export type Stored = 'accepted' | 'duplicate';

/**
 * Why a delivery is acknowledged and not stored. `erased`: it is about something that was erased; `expired`: it is older than
 * what its family keeps.
 */
export type NotStored = 'erased' | 'expired';

/** A validated callback with its id, before it is a row of `deliveries`. */
export interface Delivery {
  id: string;
  family: string;
  /** The callback as received: JSON in UTF-8, which PostgreSQL parses. */
  body: Buffer;
  /** See patientsBeyond. Default: read from the body. */
  patients?: readonly string[] | null;
  /** Whether `event_time` says nothing, so that only the id has the event time. Default: read from the body. */
  isTimeDerived?: boolean;
}

export type ReceiveResult = Stored | NotStored;
export type AppendResult = Exclude<ReceiveResult, 'expired'>;

/** Raised while no store is available: the sender has to resend. */
export class Unavailable extends Error {
  /** The id of the delivery; undefined: the body is for the quarantine. */
  readonly delivery: string | undefined;
  constructor(cause: unknown, delivery?: string) {
    super('No store is available for the delivery.', { cause });
    this.name = new.target.name;
    this.delivery = delivery;
  }
}

/**
 * Raised where the store is available, stores other deliveries and fails at this one, for a reason that does not blame its
 * data: a trigger that raises, a damaged page of an index.
 */
export class NotStorable extends Unavailable {}
