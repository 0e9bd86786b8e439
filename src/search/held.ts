import { sql } from 'kysely';
import type { Family } from '../families/index.ts';
import { findIdsBeside } from '../privacy/erasure/beside.ts';
import type { HeldData } from '../privacy/export.ts';
import type { Patient } from '../privacy/find-deliveries.ts';
import { listAccess, pseudonymOf } from '../privacy/log/audit.ts';
import { read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import type { Hit } from './hit.ts';
import { readPeople } from './people.ts';
import { recordsWhere } from './records.ts';

/** How many records of a kind are read. The export has all of them. */
export const mostHeld = 200;
const shownLooks = 10;

/** What is held about a patient: the number of rows of each table, the names and phones, and the latest records. */
export async function readHeld({ counts, tx, rowsOf }: HeldData, families: readonly Family[]) {
  const all: Hit[] = [];
  for (const family of families.filter(({ table }) => counts[table])) {
    const records = recordsWhere(family, sql`true`, rowsOf(family));
    all.push(
      ...(await read(tx, sql<Hit>`${markRepeated(records)} order by at desc, id limit ${mostHeld + 1}`)),
    );
  }
  const distinct = (values: readonly (string | null | undefined)[]) => [
    ...new Set(values.flatMap((value) => value?.trim() || [])),
  ];
  return {
    counts,
    names: distinct(all.map(({ details }) => details.name)),
    phones: distinct(all.map(({ details }) => details.phone)),
    hits: all.map((hit) => ({ ...hit, details: { ...hit.details, name: null } })),
  };
}

const markRepeated = (records: ReturnType<typeof sql>) => sql`
  select 'patient' as by, kind, business_id, id, at,
         case when kind = 'receipt' and details->>'deleted' = 'false'
                and count(*) filter (where details->>'deleted' = 'false') over same > 1
           then details || '{"note": "same amount and day as another"}' else details end as details
  from (${records}) as found
  window same as (partition by business_id, details->>'net', reporting.day(at))`;

/** What else is known of a patient: the sums of all receipts, other ids in the callbacks, and who looked before the last time. */
export async function readAround(db: Db, families: readonly Family[], patient: Patient) {
  const pseudonym = await pseudonymOf(db, patient.id);
  const [people, beside, looks] = await Promise.all([
    readPeople(db, families, [patient.id], patient.businessId),
    findIdsBeside(db, patient),
    listAccess(db, { pseudonym }, shownLooks + 1),
  ]);
  return { sums: people[0]!, beside, looks: looks.slice(1), pseudonym };
}
