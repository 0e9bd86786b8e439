/** The envelope of section 2.1. */
export interface Envelope {
  readonly event: string;
  readonly event_time: number;
  readonly timestamp: number;
  readonly client_id: string;
  readonly business_id: string;
  /** Names the admission that an event, a clearance or an estimate belongs to. */
  readonly transaction_id?: string;
  readonly data: Record<string, unknown>;
}
