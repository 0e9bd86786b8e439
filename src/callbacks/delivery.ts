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
  /** Whom and which other records it names, see subjects.ts. */
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

/** What the fallback store keeps of a delivery: the rest is read from its body again. */
export type SpilledDelivery = Pick<Delivery, 'id' | 'family' | 'body' | 'receivedAt'>;
