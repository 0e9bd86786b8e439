import { type RawBuilder, sql } from 'kysely';
import { type Family, readKey } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';

/** To which erasure rows belong, and how long they are withheld. */
export interface Withholding {
  erasureId: string;
  /** The hashes of the patient, for holds. */
  patients: readonly Buffer[];
  /** From the receipt of the delivery; 0: nothing is withheld unless a hold asks for it. */
  keepMs: number;
}

/**
 * Copies deliveries to the schema `withheld`, except what is due already; where retention has reduced a body, the rows that
 * were made of it, too.
 *
 * @returns the number of rows
 */
export async function withholdDeliveries(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
  withholding: Withholding,
): Promise<number> {
  const receivedAt = sql`i.received_at`;
  const isListed = sql`i.id = any(${ids}::uuid[])`;
  let rows = await withhold(
    db,
    { source: 'inbox', content: sql`to_jsonb(i)`, receivedAt, from: sql`inbox i`, where: isListed },
    withholding,
  );
  for (const family of families) {
    for (const table of [family.table, ...(family.versions ? [family.versions] : [])]) {
      const from = sql`inbox i join ${sql.table(table)} made on ${madeOf(family)}`;
      const where = sql`${isListed} and not i.envelope ? 'event_time'`;
      const made = { source: table, content: sql`to_jsonb(made)`, receivedAt, from, where };
      rows += await withhold(db, made, withholding);
    }
  }
  return rows;
}

/** Whether a row, `made`, was made of a delivery, `i`; found by the row's key. */
export function madeOf(family: Family): RawBuilder<unknown> {
  const { identifiedBy } = family;
  const key = identifiedBy
    ? sql`made.business_id = i.business_id and made.${sql.ref(identifiedBy)} = ${sql.raw(readKey(family, 'i')!)} and`
    : sql``;
  return sql`${key} made.delivery_id = i.id`;
}

/** Rows to withhold. */
export interface Withheld {
  /** The table that they are in. */
  source: string;
  /** The row as jsonb. */
  content: RawBuilder<unknown>;
  /** When it was received. */
  receivedAt: RawBuilder<unknown>;
  from: RawBuilder<unknown>;
  where: RawBuilder<unknown>;
}

/** Copies rows to the schema `withheld`, except what is due already. @returns the number of rows */
export async function withhold(
  db: Db,
  { source, content, receivedAt, from, where }: Withheld,
  { erasureId, patients, keepMs }: Withholding,
): Promise<number> {
  const destroyAt = sql`${receivedAt} + ${keepMs} * interval '1 millisecond'`;
  const isHeld = sql`exists (select from patient_holds where hash = any(${patients}::bytea[]))`;
  const { numAffectedRows } = await sql`
    insert into withheld.records (erasure_id, source, patients, destroy_at, received_at, content)
    select ${erasureId}::uuid, ${source}, ${patients}::bytea[], ${destroyAt}, ${receivedAt}, ${content}
    from ${from} where (${where}) and (${destroyAt} > now() or ${isHeld})`.execute(db);
  return Number(numAffectedRows);
}

/**
 * Keeps the amounts of erased receipts, without anything that leads to a patient.
 *
 * @param isErased a condition on the id of a delivery
 */
export async function keepTotals(
  db: Db,
  receipt: Family,
  isErased: (id: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<void> {
  const known = receipt.fields.receipt_status?.knownValues ?? [];
  await sql`
    insert into erased_receipts (business_id, day, status, is_deleted, receipt_amount, sku_discount_amount,
                                 additional_discount_amount, net_amount, amount_paid, amount_due)
    select made.business_id, reporting.day(coalesce(made.created_at, made.event_time)),
           case when made.receipt_status = any(${known}::text[]) then made.receipt_status end,
           made.deleted_at is not null, made.receipt_amount, made.sku_discount_amount, made.additional_discount_amount,
           made.net_amount, made.amount_paid, made.amount_due
    from inbox i join receipts made on ${madeOf(receipt)}
    where i.family = ${receipt.name} and ${isErased(sql`i.id`)} and not exists (
      select from receipt_versions older
      where older.receipt_id = made.receipt_id and older.business_id = made.business_id
        and not ${isErased(sql`older.delivery_id`)}
    )
    -- In no order that tells which is which.
    order by 1, 2, random()`.execute(db);
}
