import { type Kysely, type Selectable, sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import type { Tables } from '../../store/tables.ts';
import { recordOf } from './list.ts';

export interface DeliveryDetails extends Selectable<Tables['deliveries']> {
  /** The envelope as PostgreSQL writes it: numbers with all their digits. */
  text: string;
  /** The id of the callback's receipt, form, and so on, where its family has one. */
  record: string | null;
}

export async function readDelivery(
  db: Kysely<Tables>,
  families: readonly Family[],
  id: string,
): Promise<DeliveryDetails | undefined> {
  const { rows } = await sql<DeliveryDetails>`
    select *, jsonb_pretty(envelope) as text, ${recordOf(families)} as record
    from deliveries i where id = ${id}::uuid`.execute(db);
  return rows[0];
}
