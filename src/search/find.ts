import { type RawBuilder, sql } from 'kysely';
import { appointment } from '../families/appointment.ts';
import type { Family } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import { type Hit, shownHits } from './hit.ts';
import { isPersonal, lookupsOf, searchQuery } from './lookups.ts';
import { type Person, readPeople } from './people.ts';
import { readByIndexes } from './read-by-indexes.ts';
import { recordsWhere } from './records.ts';

/** How many patients have their sums and appointments read. */
export const mostPeople = 20;

/**
 * What look-ups find: records, each once, with the appointments of the patients that they find; and these patients.
 *
 * @param mayNamePeople without it, hits have no names and no phones, and nobody is in `people`
 */
export async function find(
  db: Db,
  families: readonly Family[],
  lookups: ReturnType<typeof lookupsOf>,
  mayNamePeople: boolean,
) {
  if (lookups.length === 0) return { hits: [], people: [] };
  const found = withoutRepeated(await readByIndexes(db, searchQuery(lookups)));
  const byPerson = found.filter(({ by }) => isPersonal(by));
  const patients = patientsOf(byPerson).slice(0, mostPeople + 1);
  const receipts = byPerson.filter(({ kind }) => kind === 'receipt');
  const linked = byPerson.length > 0 ? await readByIndexes(db, appointmentsOf(patients, receipts)) : [];
  const people = mayNamePeople && patients.length > 0 ? await readPeople(db, families, patients) : [];
  const nameOf = (patient: string) =>
    byPerson.find(({ details }) => details.patient === patient)?.details.name ?? null;
  return {
    hits: withoutRepeated([...found, ...linked]).map((hit) =>
      mayNamePeople ? hit : { ...hit, details: { ...hit.details, name: null, phone: null } },
    ),
    // Those who were only admitted have no receipt that tells the name.
    people: people.map((person) => ({ ...person, name: person.name ?? nameOf(person.patient) })),
  };
}

/** The patients that a name, a phone number or its end, or an id means. */
export async function findPeople(db: Db, families: readonly Family[], text: string): Promise<Person[]> {
  const lookups = lookupsOf(families, { text, mayNamePeople: true });
  const personal = lookups.filter(({ by }) => isPersonal(by));
  return (await find(db, families, personal, true)).people;
}

export const patientsOf = (hits: readonly Hit[]) => [
  ...new Set(hits.flatMap(({ details }) => details.patient || [])),
];

/** The first hit of each record. */
function withoutRepeated(hits: readonly Hit[]): Hit[] {
  const keys = new Map<string, Hit>();
  for (const hit of hits) {
    const key = [hit.kind, hit.business_id, hit.id].join('\n');
    // The entry of the access log is about the personal one.
    if (!keys.has(key) || (isPersonal(hit.by) && !isPersonal(keys.get(key)!.by))) keys.set(key, hit);
  }
  return [...keys.values()];
}

/** The appointments of patients, and those that some receipts name, newest first. */
function appointmentsOf(patients: readonly string[], receipts: readonly Hit[]): RawBuilder<Hit> {
  const ofPatients = recordsWhere(
    appointment,
    sql`i.family = 'appointment'`,
    sql`unnest(${patients}::text[]) as p (id)
      join inbox i on patient_key(patient_of(i.envelope)) = patient_key(p.id) and patient_of(i.envelope) = p.id
      join appointments made on i.family = 'appointment' and made.business_id = i.business_id
        and made.appointment_id = thing_of(i.family, i.envelope) and made.delivery_id = i.id`,
  );
  const ofReceipts = recordsWhere(
    appointment,
    sql`named_by.aid <> ''`,
    sql`unnest(${receipts.map((hit) => hit.business_id)}::text[], ${receipts.map(({ id }) => id)}::bigint[]) as named (business, id)
      join receipts named_by on named_by.business_id = named.business and named_by.receipt_id = named.id
      join appointments made on made.business_id = named_by.business_id and made.appointment_id = named_by.aid`,
  );
  return sql<Hit>`
    select 'the same patient' as by, found.* from (${ofPatients} union ${ofReceipts}) as found
    order by at desc, id limit ${shownHits + 1}`;
}
