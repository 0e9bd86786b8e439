/** A callback that was validated and identified, on its way into `deliveries`. */
export interface Delivery {
  id: string;
  family: string;
  /** The callback's JSON as it was received; PostgreSQL reads it. */
  json: string;
}

export type Receipt = 'accepted' | 'duplicate';
