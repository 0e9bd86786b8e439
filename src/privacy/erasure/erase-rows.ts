import { type RawBuilder, sql } from 'kysely';
import { applyAgain } from '../../apply/apply.ts';
import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { type Counts, madeOf } from '../counts.ts';
import { deleteDeliveries } from '../delete-deliveries.ts';
import { findApplied, isNamed, type RecordKey } from '../find-deliveries.ts';

/** To which erasure rows belong, and how long they are withheld. */
export interface Withholding {
  erasureId: string;
  /** The hashes of the patient, for holds. */
  patients: readonly Buffer[];
  /** From the receipt of the delivery; 0: nothing is withheld unless a hold asks for it. */
  keepMs: number;
}

/** A condition on the id of a delivery. */
export type IsErased = (id: RawBuilder<unknown>) => RawBuilder<unknown>;

/** Whether a delivery is in a list of the table `erasing`. */
export const isListedIn =
  (listId: string): IsErased =>
  (id) =>
    sql`exists (select from erasing e where e.id = ${id} and e.erasure_id = ${listId}::uuid)`;

/** Withholds deliveries. @returns their number */
export const withholdDeliveries = (
  db: Db,
  ids: readonly string[],
  withholding: Withholding,
): Promise<number> =>
  withhold(
    db,
    'inbox',
    sql`select i.received_at, to_jsonb(i) as content from inbox i where i.id = any(${ids}::uuid[])`,
    withholding,
  );

/**
 * Copies rows of a table to the schema `withheld`, except what is due already.
 *
 * @param erased the query for them: `received_at`, and the row as jsonb, `content`
 */
export async function withhold(
  db: Db,
  source: string,
  erased: RawBuilder<unknown>,
  { erasureId, patients, keepMs }: Withholding,
): Promise<number> {
  const destroyAt = sql`received_at + ${keepMs} * interval '1 millisecond'`;
  const isHeld = sql`exists (select from patient_holds where hash = any(${patients}::bytea[]))`;
  const { numAffectedRows } = await sql`
    insert into withheld.records (erasure_id, source, patients, destroy_at, received_at, content)
    select ${erasureId}::uuid, ${source}, ${patients}::bytea[], ${destroyAt}, received_at, content
    from (${erased}) as erased where ${destroyAt} > now() or ${isHeld}`.execute(db);
  return Number(numAffectedRows);
}

/**
 * Erases deliveries: withholds them, deletes them with the rows made of them, and makes the rows of the deliveries that remain
 * about the same records.
 */
export async function eraseDeliveries(
  tx: Db,
  families: readonly Family[],
  ids: readonly string[],
  withholding: Withholding,
): Promise<Counts> {
  const { rows: present } = await sql<{ family: string }>`
    select distinct family from inbox where id = any(${ids}::uuid[])`.execute(tx);
  const { rows: records } = await sql<RecordKey>`
    select distinct thing_family(family) as family, business_id, thing_of(family, envelope) as thing
    from inbox where id = any(${ids}::uuid[]) and thing_of(family, envelope) is not null`.execute(tx);
  const own = families.filter(({ name }) => present.some(({ family }) => family === name));
  const withheld = await withholdDeliveries(tx, ids, withholding);
  const counts = await deleteDeliveries(tx, own, ids, 'erased');
  // Where there are versions, the newest of those that remain is the row already.
  const others = families.filter(({ versions }) => !versions);
  await applyAgain(tx, others, await findApplied(tx, others, records));
  return { ...counts, withheld };
}

/** Withholds and deletes bodies of the quarantine. @returns the number of bodies */
export async function eraseQuarantined(tx: Db, ids: readonly string[], withholding: Withholding) {
  if (ids.length === 0) return 0;
  const where = sql`q.id = any(${ids}::uuid[])`;
  const bodies = sql`select q.received_at, to_jsonb(q) as content from quarantine q where ${where}`;
  await withhold(tx, 'quarantine', bodies, withholding);
  const { numAffectedRows } = await sql`delete from quarantine q where ${where}`.execute(tx);
  return Number(numAffectedRows);
}

/** The access log names the patient no more, unless data remains, such as that of another business. */
export async function erasePseudonym(tx: Db, id: string, withholding: Withholding): Promise<void> {
  const pseudonym = sql`patient_pseudonyms p
    where p.pseudonym = (select patient_hash(salt, '', ${id}) from erasure_salt) and not ${isNamed(sql`${id}::text`)}`;
  const content = sql`select now() as received_at, to_jsonb(p) as content from ${pseudonym}`;
  await withhold(tx, 'patient_pseudonyms', content, withholding);
  await sql`delete from ${pseudonym}`.execute(tx);
}

/** Keeps the amounts of erased receipts, without anything that leads to a patient. */
export async function keepTotals(db: Db, families: readonly Family[], isErased: IsErased): Promise<void> {
  const receipt = families.find(({ table }) => table === 'receipts');
  if (!receipt) return;
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

/** Deletes differences whose values may be those of erased deliveries. */
export async function forgetDrift(tx: Db, isErased: IsErased): Promise<void> {
  await sql`
    delete from schema_drift
    where kind in ('unknown', 'value') and ${isErased(sql`schema_drift.example_delivery`)}`.execute(tx);
}
