import { sql } from 'kysely';
import type { Family } from '../families/index.ts';
import { madeOf } from '../privacy/counts.ts';
import type { Db } from '../store/tables.ts';
import { readByIndexes } from './read-by-indexes.ts';

/** A patient with the sums of all receipts that are not deleted, in rupees. */
export interface Person {
  patient: string;
  name: string | null;
  mobile: string | null;
  receipts: number;
  net: string | null;
  paid: string | null;
  due: string | null;
  latest: Date | null;
}

/** What a list of patients shows, those seen last first; of one business, or of all. */
export function readPeople(
  db: Db,
  families: readonly Family[],
  patients: readonly string[],
  business?: string,
): Promise<Person[]> {
  const family = families.find(({ table }) => table === 'receipts')!;
  const query = sql<Person>`
    select p.id as patient, (array_agg(r.name order by r.at desc) filter (where r.name <> ''))[1] as name,
           (array_agg(r.mobile order by r.at desc) filter (where r.mobile <> ''))[1] as mobile,
           count(r.at)::int as receipts, sum(r.net_amount)::text as net, sum(r.amount_paid)::text as paid, sum(r.amount_due)::text as due, max(r.at) as latest
    from unnest(${patients}::text[]) as p (id)
    left join lateral (
      select made.name, made.mobile, made.net_amount, made.amount_paid, made.amount_due, coalesce(made.created_at, made.first_event_time, made.event_time) as at
      from inbox i join receipts made on ${madeOf(family)}
      where patient_key(patient_of(i.envelope)) = patient_key(p.id) and patient_of(i.envelope) = p.id
        and i.family = 'receipt' and made.deleted_at is null
        ${business ? sql`and made.business_id = ${business}` : sql``}
    ) r on true
    group by p.id
    order by latest desc nulls last, p.id`;
  return readByIndexes(db, query);
}
