import type { Generated, GeneratedAlways, JSONColumnType, Kysely } from 'kysely';
import type { QuarantineReason } from '../receiver/intake/rejection.ts';

export const deliveryStatuses = ['received', 'applied', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export { type QuarantineReason, quarantineReasons } from '../receiver/intake/rejection.ts';

/** The database, or a transaction in it. */
export type Db = Kysely<Tables>;

interface DeliveryRow {
  id: string;
  event: string;
  family: string;
  client_id: string;
  business_id: string;
  event_time: Date;
  envelope: JSONColumnType<Record<string, unknown>>;
  status: DeliveryStatus;
  error: string | null;
  delivery_count: number;
  received_at: Date;
  last_received_at: Date;
  applied_at: Date | null;
  source: 'callback' | 'reconcile';
}

/** The tables that the code itself reads and writes; statements of the families write theirs. */
export interface Tables {
  /** A view, to be read by ids: it also shows those without a state. */
  deliveries: DeliveryRow;
  /** A view. */
  stated_deliveries: DeliveryRow;
  quarantine: {
    id: string;
    path: string;
    reason: QuarantineReason;
    errors: JSONColumnType<{ path: string; message: string }[]>;
    body: Buffer;
    received_at: Generated<Date>;
    last_received_at: Generated<Date>;
    count: Generated<number>;
    replayed_at: Date | null;
    acknowledged: Generated<boolean>;
    corrects: string | null;
    delivery_id: string | null;
    bytes: GeneratedAlways<number>;
    business_id: GeneratedAlways<string | null>;
  };
}
