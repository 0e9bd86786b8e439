export interface RecordKey {
  family: string;
  /** Empty where a callback has none, as is `clientId`. */
  businessId: string;
  /** The id of the delivery where the family has no key. */
  recordId: string;
}

/** A callback that passed the access checks and was read: a row of `inbox`. */
export interface Delivery extends RecordKey {
  id: string;
  event: string;
  clientId: string;
  /** Its place among the callbacks of its record: sorts bytewise. */
  version: string;
  /** In milliseconds since 1970. */
  eventMs: number;
  /** The patients and other records that it names, see subjects.ts. */
  subjects: readonly string[];
  /** The callback as received, without secrets: JSON in UTF-8. */
  body: Buffer;
  /** JSON of what is merged; null: it is the `data` of the body. */
  data: string | null;
  /** In microseconds since 1970. */
  receivedAt: number;
  /** When the database that it is moved from stored it: SQL. */
  storedAt?: string;
}

/** In the fallback store; the rest is read from its body again. */
export type SpilledDelivery = Pick<Delivery, 'id' | 'family' | 'body' | 'receivedAt'>;
