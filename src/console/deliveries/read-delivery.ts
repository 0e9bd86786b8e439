import { type Kysely, type Selectable, sql } from 'kysely';
import { type Family, readKey } from '../../families/index.ts';
import type { Tables } from '../../store/tables.ts';

export interface DeliveryDetails extends Selectable<Tables['deliveries']> {
  /** The envelope as PostgreSQL writes it: numbers with all their digits. */
  text: string;
}

/** A row of a family's table, every value as text. */
export type RowAsText = Record<string, string | null>;

export async function readDelivery(db: Kysely<Tables>, id: string): Promise<DeliveryDetails | undefined> {
  const { rows } = await sql<DeliveryDetails>`
    select *, jsonb_pretty(envelope) as text from deliveries where id = ${id}::uuid`.execute(db);
  return rows[0];
}

/** The row of a delivery's record; undefined if there is none. */
export async function readRow(
  db: Kysely<Tables>,
  family: Family,
  delivery: DeliveryDetails,
): Promise<RowAsText | undefined> {
  const { identifiedBy } = family;
  const key = identifiedBy
    ? sql`business_id = ${delivery.business_id} and ${sql.ref(identifiedBy)} = (
        select ${sql.raw(readKey(family, 'i')!)} from inbox i where i.id = ${delivery.id}::uuid)`
    : sql`delivery_id = ${delivery.id}::uuid`;
  const { rows } = await sql<{ row: RowAsText }>`
    select (select json_object_agg(key, value) from json_each_text(to_json(existing))) as row
    from ${sql.table(family.table)} as existing where ${key}`.execute(db);
  return rows[0]?.row;
}
