import type pg from 'pg';
import type { Family } from '../callbacks/families/family.ts';
import { keyText } from '../callbacks/families/field.ts';
import { patientSubject } from '../callbacks/subjects.ts';
import { escapeLike, isName, numberKey, plain, wordsOf } from '../common/plain-text.ts';
import type { Core } from '../receiver/feature.ts';
import { businessesOfInbox, columnsOf, keyOf, personIn, quoted, tableOf } from '../receiver/store/columns.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { inTransaction, snapshot } from '../receiver/store/pools.ts';
import { nameLexemes, reversedNumber, reversedPhone } from '../receiver/store/search-indexes.ts';
import { type FamilyRecord, hasPublicKey, patientsOf, peopleIn } from './read-record.ts';

const kindsOfMatch = ['number', 'id', 'phone', 'name'] as const;
type FoundBy = (typeof kindsOfMatch)[number];

export interface Hit extends FamilyRecord {
  by: FoundBy;
  /** For its address, see `findRecord`. */
  id: string;
  at: Date;
  number: string | null;
  amount: string | null;
  /** The patient's; null where people may not be named. */
  name: string | null;
  phone: string | null;
  /** The platform's id. */
  patient: string | null;
}

/** A patient, by the newest record with the phone number or the name. */
export interface Person extends Hit {
  /** The platform's id, as `p:platform:<id>`. */
  subjects: string[];
}

export interface SearchResult {
  /** Only where people may be named. */
  persons: Person[];
  /** Without records of these persons that have only their phone number or name. */
  hits: Hit[];
  isCut: boolean;
}

/** The limit of each question to a table: numbers that end in a few digits do not hide the record with that id. */
const maxHits = 100;
const timeoutMs = 5_000;

/** With the country code, or ten digits with any spelling of +91 in front. */
const phone = /^(\+\d{8,15}|(0?0?91|0)?\d{10})$/;
const endOfPhone = /^\d{4,9}$/;

/**
 * Finds persons, if they may be named, by a phone number in any spelling, by its last digits, or by words of a name; and records by the end of the
 * number that is printed on them, then by their id. It adds the entry of the access log.
 *
 * @throws the database's error, also where a large table takes too long; Error where the access log cannot be written
 */
export async function search(
  core: Core,
  text: string,
  { actor, mayNamePeople }: { actor: Actor; mayNamePeople: boolean },
): Promise<SearchResult> {
  const term = text.trim().replaceAll('\0', '').toWellFormed();
  const first = `${snapshot}; set local statement_timeout = ${timeoutMs}`;
  const { subjects, ...found } = await inTransaction(core.pool, first, (client) =>
    find(client, core.families, term, mayNamePeople),
  );
  const { persons, hits } = found;
  const by = [...new Set([...persons, ...hits].map((one) => one.by))];
  // Also without hits: the reader knows then that nobody has this number. Without names nothing is personal.
  const rows = persons.length + hits.length;
  if (mayNamePeople) await logAccess(core, { actor, action: 'search', subjects, filter: { by }, rows });
  return found;
}

async function find(
  client: pg.ClientBase,
  families: readonly Family[],
  term: string,
  mayNamePeople: boolean,
): Promise<SearchResult & { subjects: string[] }> {
  const { rows } = await client.query<{ business_id: string }>(businessesOfInbox);
  const businesses = rows.map(({ business_id }) => business_id);
  const scans = families.flatMap((family) => [
    ...byNumber(family, term),
    ...(mayNamePeople || hasPublicKey(family) ? byKey(family, term, businesses) : []),
    ...(mayNamePeople ? byPerson(family, term) : []),
  ]);
  const found: Hit[] = [];
  let isCut = false;
  for (const { family, by, text, values } of term === '' ? [] : scans) {
    const { rows } = await client.query<Omit<Hit, 'family' | 'by' | 'id'> & { delivery: string }>(
      text,
      values,
    );
    const masked = mayNamePeople ? {} : { name: null, phone: null, patient: null };
    for (const { delivery, ...row } of rows)
      found.push({ ...row, ...masked, family, by, id: hasPublicKey(family) ? row.recordId : delivery });
    isCut ||= rows.length === maxHits;
  }
  const order = ({ by }: Hit) => kindsOfMatch.indexOf(by);
  // What is printed on paper comes first: the same digits may be the id of another record.
  found.sort((a, b) => order(a) - order(b) || (a.by === 'number' ? 0 : b.at.getTime() - a.at.getTime()));
  const patients = new Map<string, Hit>();
  const hits = new Map<string, Hit>();
  for (const hit of found) {
    const { by, family, businessId, recordId } = hit;
    const key = JSON.stringify([family.name, businessId, recordId]);
    const subject = patientSubject('platform', hit.patient, '');
    if (!['phone', 'name'].includes(by) || subject === undefined) hits.set(key, hits.get(key) ?? hit);
    else patients.set(subject, patients.get(subject) ?? hit);
  }
  const persons = [...patients].map(([subject, hit]): Person => ({ ...hit, subjects: [subject] }));
  const shown = [...hits.values(), ...patients.values()].map((hit) => ({ ...hit, family: hit.family.name }));
  return { persons, hits: [...hits.values()], isCut, subjects: await patientsOf(client, shown) };
}

/** By the end of a printed number: the exact number first, then where the digits are all of its digits, then the shortest. */
function byNumber(family: Family, term: string) {
  const key = numberKey(term);
  if (family.printedNumber === undefined || !/\d/.test(key)) return [];
  const column = `t.${quoted(family.printedNumber)}`;
  const [number, reversed] = [`reporting.number_key(${column})`, reversedNumber(column)];
  const allDigits = /^\d+$/.test(key) ? `${number} ~ ('\\D' || $1 || '$') desc,` : '';
  const order = `${number} = $1 desc, ${allDigits} length(${number}), t.event_time desc`;
  const ends = `${column} is not null and ${reversed} like $2`;
  // Fewer characters end too many numbers: they have to be the whole one.
  const values = [key, key.length < 3 ? escapeLike(reverse(key)) : startOf(reverse(key))];
  return [scan(family, 'number', ends, values, order)];
}

const reverse = (text: string) => Array.from(text).reverse().join('');
const startOf = (text: string) => `${escapeLike(text)}%`;

function byKey(family: Family, term: string, businesses: string[]) {
  const { key, fields } = family;
  if (key === undefined) return [];
  // An index has ids as they came.
  const forms = [term, plain(term), term.normalize('NFC'), term.normalize('NFD')];
  const keys = forms.map((form) => keyText(fields[key]!, form)).filter((id) => id !== undefined);
  const type = columnsOf(family)[key];
  const isKey = `t.business_id = any($1) and t.${quoted(key)} = any($2::${type}[])`;
  return keys.length > 0 ? [scan(family, 'id', isKey, [businesses, [...new Set(keys)]])] : [];
}

/** Reads a family's table for a condition on a row `t`. @param values $1, $2 … */
function scan(
  family: Family,
  by: FoundBy,
  condition: string,
  values: unknown[],
  order = 't.event_time desc',
) {
  const ifAny = (name = '') => (Object.hasOwn(family.fields, name) ? `t.${quoted(name)}::text` : 'null');
  const text = `
    select t.business_id as "businessId", t.${quoted(keyOf(family).at(-1)!)}::text as "recordId", t.delivery_id as delivery,
           t.event_time as at, ${ifAny(family.printedNumber)} as number, ${ifAny('net_amount')} as amount,
           ${peopleIn(family)}
    from ${tableOf(family)} t where ${condition} order by ${order} limit ${maxHits}`;
  return { family, by, text, values };
}

function byPerson(family: Family, term: string) {
  if (!family.people) return [];
  const { names, phones } = family.people;
  const digits = plain(term).replace(/[\s().-]/g, '');
  // Not null, for the sake of partial indexes.
  const any = (paths: readonly string[], condition: (text: string) => string) =>
    paths.map((path) => `(${personIn(path)} is not null and ${condition(personIn(path))})`).join(' or ');
  if (phone.test(digits)) {
    const isSame = (text: string) => `${reversedPhone(text)} = ${reversedPhone('$1')}`;
    return [scan(family, 'phone', any(phones, isSame), [digits])];
  }
  if (endOfPhone.test(digits)) {
    const endsSo = (text: string) => `${reversedPhone(text)} like $1`;
    return [scan(family, 'phone', any(phones, endsSo), [startOf(reverse(digits))])];
  }
  if (!isName(term)) return [];
  // A name has every word, or words that begin so; the second list has the marks of the term as nothing.
  const queries = wordsOf(term).map((words) => words.map((word) => `'${word}':*`).join(' & '));
  const isNamed = (text: string) => `${nameLexemes(text)} @@ lower($1)::tsquery`;
  return [scan(family, 'name', any(names, isNamed), [queries.join(' | ')])];
}

/** How a record was found, for people: the digits of its id may be the printed number of another one. */
export function describeMatch({ by, family, recordId }: Hit): string {
  if (by === 'id') return family.printedNumber ? `internal id ${recordId}` : 'its id';
  return { number: 'its number', phone: 'phone', name: 'name' }[by];
}
