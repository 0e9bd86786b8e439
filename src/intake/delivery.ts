/** A callback that was validated and identified, on its way into `deliveries`. */
export interface Delivery {
  id: string;
  family: string;
  /** The callback as it was received: JSON in UTF-8, which PostgreSQL reads. */
  body: Buffer;
}

export type Receipt = 'accepted' | 'duplicate';
