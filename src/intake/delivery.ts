/** A callback that was validated and identified, on its way into `deliveries`. */
export interface Delivery {
  id: string;
  family: string;
  /** The callback as it was received: JSON in UTF-8, which PostgreSQL reads. */
  body: Buffer;
}

/** Whether a delivery is new. */
export type AppendResult = 'accepted' | 'duplicate';

/** Raised while no store can make something durable: the sender has to send it again. */
export class Unavailable extends Error {
  constructor(cause: unknown) {
    super('No store can hold the delivery now.', { cause });
    this.name = 'Unavailable';
  }
}
