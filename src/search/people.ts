import { type RawBuilder, sql } from 'kysely';
import type { Family } from '../families/index.ts';
import { madeOf } from '../privacy/counts.ts';
import type { Db } from '../store/tables.ts';
import { lookupsOf, personalLookups, readByIndexes, searchQuery } from './lookups.ts';

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
export function peopleQuery(
  families: readonly Family[],
  patients: readonly string[],
  business?: string,
): RawBuilder<Person> {
  const family = families.find(({ table }) => table === 'receipts')!;
  return sql<Person>`
    select p.id as patient, (array_agg(r.name order by r.at desc) filter (where r.name <> ''))[1] as name,
           (array_agg(r.mobile order by r.at desc) filter (where r.mobile <> ''))[1] as mobile,
           count(r.at)::int as receipts, sum(r.net_amount)::text as net, sum(r.amount_paid)::text as paid, sum(r.amount_due)::text as due, max(r.at) as latest
    from unnest(${patients}::text[]) as p (id)
    left join lateral (
      select made.name, made.mobile, made.net_amount, made.amount_paid, made.amount_due, coalesce(made.created_at, made.event_time) as at
      from inbox i join receipts made on ${madeOf(family)}
      where patient_key(patient_of(i.envelope)) = patient_key(p.id) and patient_of(i.envelope) = p.id
        and i.family = 'receipt' and made.deleted_at is null
        ${business ? sql`and made.business_id = ${business}` : sql``}
    ) r on true
    group by p.id
    order by latest desc nulls last, p.id`;
}

/** The patients that a name, a phone number or its end, or an id means. @param today a day such as 2026-11-21 */
export async function findPeople(
  db: Db,
  families: readonly Family[],
  text: string,
  today: string,
): Promise<Person[]> {
  const lookups = lookupsOf(families, { text, mayNamePeople: true, today });
  const personal = lookups.filter(({ by }) => personalLookups.some((one) => one === by));
  const hits = await readByIndexes(db, searchQuery(personal));
  const patients = [...new Set(hits.flatMap(({ details }) => details.patient || []))];
  return patients.length > 0 ? readPeople(db, families, patients) : [];
}

export const readPeople = (
  db: Db,
  families: readonly Family[],
  patients: readonly string[],
): Promise<Person[]> => readByIndexes(db, peopleQuery(families, patients));
