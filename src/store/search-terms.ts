import { sql } from 'kysely';
import type { Fence } from './lease.ts';
import type { Db } from './tables.ts';
import { setPlanForAnySize } from './transactions.ts';

/** An erasure waits for a step, and callbacks for the erasure. */
const receiptsPerStep = 1_000;

interface Key {
  business_id: string;
  receipt_id: string;
}

/** What a step of `updateTerms` has done. */
export interface UpdatedTerms {
  /** The number of receipts that were looked at. */
  receipts: number;
  /** Whether there may be more to do. */
  hasMore: boolean;
}

/**
 * Makes the search terms of changed receipts again: of at most a thousand, in a short transaction. A receipt that changes
 * meanwhile stays outdated; what a process that is killed has begun is done by the next step.
 *
 * @param fence of the lease for it
 * @throws LeaseLost; the database's error
 */
export async function updateTerms(db: Db, fence?: Fence): Promise<UpdatedTerms> {
  return db.transaction().execute(async (tx) => {
    await setPlanForAnySize(tx);
    // As the statements that apply: an erasure that has listed its deliveries waits for this step, and a later step sees the list.
    await sql`lock table erased in row share mode`.execute(tx);
    const changed = await takeChanged(tx);
    const keys = changed.length > 0 ? changed : await takeLater(tx);
    if (keys.length > 0) await replaceTerms(tx, keys);
    await fence?.(tx);
    return { receipts: keys.length, hasMore: keys.length > 0 };
  });
}

/** Whether there is anything for `updateTerms` to do. */
export async function areTermsOutdated(db: Db): Promise<boolean> {
  const { rows } = await sql`select from outdated_terms limit 1`.execute(db);
  return rows.length > 0;
}

async function takeChanged(tx: Db): Promise<Key[]> {
  const { rows } = await sql<Key>`
    with taken as (
      delete from outdated_terms
      where ctid = any(array(select ctid from outdated_terms where not and_later limit ${receiptsPerStep}))
      returning business_id, receipt_id
    )
    select distinct business_id, receipt_id from taken`.execute(tx);
  return rows;
}

/** The next receipts of a business of which all are outdated. */
async function takeLater(tx: Db): Promise<Key[]> {
  const { rows: ranges } = await sql<Key & { place: string }>`
    select business_id, receipt_id, ctid::text as place from outdated_terms where and_later limit 1`.execute(
    tx,
  );
  const [range] = ranges;
  if (!range) return [];
  const { rows } = await sql<Key>`
    select business_id, receipt_id from receipts
    where business_id = ${range.business_id} and receipt_id > ${range.receipt_id}
    order by receipt_id limit ${receiptsPerStep}`.execute(tx);
  const last = rows.at(-1);
  const isRange = sql`ctid = ${range.place}::tid`;
  await (last
    ? sql`update outdated_terms set receipt_id = ${last.receipt_id} where ${isRange}`
    : sql`delete from outdated_terms where ${isRange}`
  ).execute(tx);
  return last ? rows : takeLater(tx);
}

async function replaceTerms(tx: Db, keys: readonly Key[]): Promise<void> {
  await sql`
    with keys as materialized (
      select k.business_id, k.receipt_id
      from unnest(${keys.map(({ business_id }) => business_id)}::text[], ${keys.map(({ receipt_id }) => receipt_id)}::bigint[])
        as k (business_id, receipt_id)
    ), made as materialized (
      select r.business_id, r.receipt_id, receipt_terms_of(r.name, r.mobile, r.receipt_number) as terms
      from keys k join receipts r on r.business_id = k.business_id and r.receipt_id = k.receipt_id
      where not exists (select from erasing e where e.id = r.delivery_id)
    ), gone as (
      delete from receipt_terms t using keys k
      where t.business_id = k.business_id and t.receipt_id = k.receipt_id
        and (k.business_id, k.receipt_id) not in (select m.business_id, m.receipt_id from made m where m.terms <> '')
    )
    insert into receipt_terms as existing (business_id, receipt_id, terms)
    select m.business_id, m.receipt_id, m.terms from made m where m.terms <> ''
    order by m.business_id, m.receipt_id
    on conflict (business_id, receipt_id) do update set terms = excluded.terms
      where existing.terms <> excluded.terms`.execute(tx);
}

/** Whether the terms of receipts that came before are still being made, so that a search may miss some. */
export async function areTermsIncomplete(db: Db): Promise<boolean> {
  const { rows } = await sql<{ incomplete: boolean }>`
    select exists (select from outdated_terms where and_later) as incomplete`.execute(db);
  return rows[0]!.incomplete;
}
