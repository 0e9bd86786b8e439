import type pg from 'pg';
import type { RecordKey } from '../callbacks/delivery.ts';
import type { Family } from '../callbacks/families/family.ts';
import { wholeNumber } from '../callbacks/families/field.ts';
import { patientIdOf, patientSubject, recordSubject } from '../callbacks/subjects.ts';
import { escapeLike, isName, numberKey, plain, wordsOf } from '../common/plain-text.ts';
import type { Core } from '../receiver/feature.ts';
import { businessesOfInbox, keyOf, literal, personIn, quoted, tableOf } from '../receiver/store/columns.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import { nameWords, reversedNumber, reversedPhone } from '../receiver/store/search-indexes.ts';
import { maskRow } from './mask.ts';
import { type FamilyRecord, hasPublicKey, patientsOf, type Row, readRows } from './read-record.ts';

/** In the order in which they are shown. */
const kindsOfMatch = ['number', 'id', 'mention', 'phone', 'name'] as const;
/** `mention`: a callback names the id, as that of a patient or of a record that it refers to. */
export type FoundBy = (typeof kindsOfMatch)[number];

export interface Hit extends FamilyRecord {
  by: FoundBy;
  /** For its address, see `findRecord`. */
  id: string;
  /** The time of the newest event. */
  at: Date;
  /** Without what is personal, unless people may be named; null: it was not merged yet. */
  row: Row | null;
  name?: string | null;
  phone?: string | null;
}

/** A patient, by the platform's id: found by a phone number or a name of one of its records. */
export interface Person {
  by: FoundBy;
  /** The id, as `p:platform:<id>`. */
  subjects: string[];
  /** The name, the phone number and the business of the newest record that was found. */
  name: string | null;
  phone: string | null;
  businessId: string;
  /** The time of the newest event. */
  last: Date;
}

export interface SearchResult {
  /** Only where people may be named. */
  persons: Person[];
  /** Without records of these persons that have only their phone number or name. */
  hits: Hit[];
  /** There may be more. */
  isCut: boolean;
}

const maxHits = 50;
const maxPersons = 20;
/** Records by a phone number or a name, of which most are those of the same few patients. */
const maxOfPeople = 500;
/** Few digits are the end of many numbers: records with that id are listed beside them. */
const maxNumbers = 25;
const timeoutMs = 5_000;

/** With the country code, or ten digits with any spelling of +91 in front. */
const phone = /^(\+\d{8,15}|(0?0?91|0)?\d{10})$/;
const endOfPhone = /^\d{4,9}$/;

/**
 * Finds persons, if they may be named, by a phone number in any spelling, by its last digits, or by words of a name; and records by the end of the
 * number that is printed on them, then by an id of any kind. It adds the entry of the access log.
 *
 * @throws the database's error, also where a large table takes too long; Error where the access log cannot be written
 */
export async function search(
  core: Core,
  text: string,
  { actor, mayNamePeople }: { actor: Actor; mayNamePeople: boolean },
): Promise<SearchResult> {
  const term = text.trim().replaceAll('\0', '').toWellFormed();
  const first = `set transaction isolation level repeatable read, read only; set local statement_timeout = ${timeoutMs}`;
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
  const matches: Match[] = [];
  if (term !== '')
    for (const { text, values } of [
      ...byNumber(families, term),
      ...lookups(families, term, mayNamePeople, businesses),
    ])
      matches.push(...(await client.query<Match>(text, values)).rows);
  const patients = newestOfPatients(matches);
  const listed = new Map([...patients].slice(0, maxPersons));
  const byRecord = new Map(matches.toReversed().map((match) => [keyIn(match), match]));
  const distinct = [...byRecord.values()].toReversed().filter((match) => !listed.has(patientOf(match) ?? ''));
  const shown = distinct.slice(0, maxHits);
  const read = await readHits(client, families, [...shown, ...listed.values()], mayNamePeople);
  // What is printed on paper comes first: the same digits may be the id of another record.
  const hits = shown
    .map((match) => read.get(match)!)
    .sort(
      (a, b) =>
        kindsOfMatch.indexOf(a.by) - kindsOfMatch.indexOf(b.by) ||
        (a.by === 'number' ? 0 : b.at.getTime() - a.at.getTime()),
    );
  const countOf = (...kinds: FoundBy[]) => matches.filter(({ by }) => kinds.includes(by)).length;
  const isCut =
    distinct.length > maxHits ||
    patients.size > maxPersons ||
    countOf('number') >= maxNumbers ||
    countOf('phone', 'name') >= maxOfPeople;
  const persons = [...listed].map(([subject, match]): Person => {
    const { by, name = null, phone = null, businessId, at } = read.get(match)!;
    return { by, subjects: [subject], name, phone, businessId, last: at };
  });
  return { persons, hits, isCut, subjects: await patientsOf(client, [...read.values()]) };
}

/** The subject of the patient whom a record names that was found by a phone number or a name. */
const patientOf = ({ patientId }: Match) => patientSubject('platform', patientId, '');

/** The newest records by patients, the newest first. */
function newestOfPatients(matches: readonly Match[]): Map<string, Match> {
  const patients = new Map<string, Match>();
  for (const match of matches.toSorted((a, b) => b.at.getTime() - a.at.getTime())) {
    const subject = patientOf(match);
    if (subject !== undefined && !patients.has(subject)) patients.set(subject, match);
  }
  return patients;
}

async function readHits(
  client: pg.ClientBase,
  families: readonly Family[],
  matches: readonly Match[],
  mayNamePeople: boolean,
): Promise<Map<Match, Hit>> {
  const hits = new Map<Match, Hit>();
  for (const family of families) {
    const own = matches.filter((match) => match.family === family.name);
    if (own.length === 0) continue;
    const rows = await readRows(client, family, own);
    for (const [n, match] of own.entries()) {
      const { by, at, businessId, recordId, delivery } = match;
      const id = hasPublicKey(family) ? recordId : delivery;
      const { row, name, phone } = rows[n]!;
      const values = mayNamePeople ? { row, name, phone } : { row: row && maskRow(row, family) };
      hits.set(match, { by, at, businessId, recordId, family, id, ...values });
    }
  }
  return hits;
}

/** `delivery`: its newest. */
interface Match extends RecordKey {
  by: FoundBy;
  at: Date;
  delivery: string;
  /** By a phone number or a name alone. */
  patientId?: string | null;
}
const keyIn = ({ family, businessId, recordId }: Match) => JSON.stringify([family, businessId, recordId]);

/** By the end of a printed number: the exact number first, then where the digits are all of its digits, then the shortest. */
function byNumber(families: readonly Family[], term: string) {
  const key = numberKey(term);
  return families.flatMap((family) => {
    if (family.printedNumber === undefined || !/\d/.test(key)) return [];
    const column = `t.${quoted(family.printedNumber)}`;
    const [number, reversed] = [`reporting.number_key(${column})`, reversedNumber(column)];
    const allDigits = /^\d+$/.test(key) ? `${number} ~ ('\\D' || $1 || '$') desc,` : '';
    const order = `${number} = $1 desc, ${allDigits} length(${number}), t.event_time desc`;
    const ends = `${column} is not null and ${reversed} like $2`;
    // Fewer characters end too many numbers: they have to be the whole one.
    const values = [key, key.length < 3 ? escapeLike(reverse(key)) : startOf(reverse(key))];
    return scan(family, 'number', ends, values, { order, limit: maxNumbers });
  });
}

const reverse = (text: string) => Array.from(text).reverse().join('');
/** A pattern of LIKE. */
const startOf = (text: string) => `${escapeLike(text)}%`;

function lookups(families: readonly Family[], term: string, mayNamePeople: boolean, businesses: string[]) {
  const keyed = families.filter((family) => family.key && (mayNamePeople || hasPublicKey(family)));
  const plainText = plain(term);
  // An index has ids as they came.
  const forms = [...new Set([term, plainText, term.normalize('NFC'), term.normalize('NFD')])];
  const referredTo = families.flatMap(({ fields }) =>
    Object.values(fields).flatMap(({ refersTo }) => refersTo ?? []),
  );
  const people = families.filter((family) => family.people && mayNamePeople);
  const digits = plainText.replace(/[\s().-]/g, '');
  const mentions = forms.flatMap((id) => [
    ...[...new Set(referredTo)].flatMap((name) =>
      businesses.map((business) => recordSubject(name, business, id)),
    ),
    ...(mayNamePeople ? [patientSubject('platform', id, ''), patientSubject('abha', id, '')] : []),
    ...(mayNamePeople ? businesses.map((business) => patientSubject('partner', id, business)) : []),
  ]);
  return [
    byIndex(
      'id',
      // The limits make PostgreSQL look each up: it would read the whole index for many.
      `i.id in (
        select one.id from unnest($1::text[]) b, unnest($2::text[]) f, unnest($3::text[]) r cross join lateral (
          select id from receiver.inbox where (business_id, family, record_id) = (b, f, r) order by version desc limit 1
        ) one limit ${maxHits + 1})`,
      [businesses, keyed.map(({ name }) => name), [...forms, wholeNumber(plainText)?.toString() ?? term]],
    ),
    byIndex('mention', 'i.id in (select id from receiver.callbacks_with($1))', [
      mentions.filter((subject) => subject !== undefined),
    ]),
    ...people.flatMap((family) => byPerson(family, digits, term)),
  ];
}

const byIndex = (by: FoundBy, condition: string, values: unknown[]) => ({
  text: `select * from (
    select distinct on (i.business_id, i.family, i.record_id) '${by}' as by, i.family, i.business_id as "businessId",
           i.record_id as "recordId", i.id as delivery, i.event_time as at
    from receiver.inbox i where ${condition} order by i.business_id, i.family, i.record_id, i.version desc
  ) hits order by at desc limit ${maxHits + 1}`,
  values,
});

/** Reads a family's table for a condition on a row `t`. @param values $1, $2 … */
const scan = (
  family: Family,
  by: FoundBy,
  condition: string,
  values: unknown[],
  { order = 't.event_time desc', limit = maxOfPeople, patientId = 'null' } = {},
) => ({
  text: `select '${by}' as by, ${literal(family.name)} as family, t.business_id as "businessId", ${patientId} as "patientId",
           t.${quoted(keyOf(family).at(-1)!)}::text as "recordId", t.delivery_id as delivery, t.event_time as at
         from ${tableOf(family)} t where ${condition} order by ${order} limit ${limit}`,
  values,
});

function byPerson(family: Family, digits: string, term: string) {
  const { names, phones } = family.people!;
  const path = patientIdOf(family);
  const options = path === undefined ? {} : { patientId: personIn(path) };
  // Not null, for the sake of partial indexes.
  const any = (paths: readonly string[], condition: (text: string) => string) =>
    paths.map((path) => `(${personIn(path)} is not null and ${condition(personIn(path))})`).join(' or ');
  if (phone.test(digits)) {
    const isSame = (text: string) => `${reversedPhone(text)} = ${reversedPhone('$1')}`;
    return [scan(family, 'phone', any(phones, isSame), [digits], options)];
  }
  if (endOfPhone.test(digits)) {
    const endsSo = (text: string) => `${reversedPhone(text)} like $1`;
    return [scan(family, 'phone', any(phones, endsSo), [startOf(reverse(digits))], options)];
  }
  if (!isName(term)) return [];
  // A name has every word, or words that begin so; the second list has the marks of the term as nothing.
  const lists = wordsOf(term);
  const values = lists.flatMap((words) => words.map((word) => `% ${startOf(word)}`));
  const isNamed = (text: string) => {
    let n = 0;
    const all = lists.map((words) => words.map(() => `${nameWords(text)} ilike $${++n}`).join(' and '));
    return `(${all.join(' or ')})`;
  };
  return [scan(family, 'name', any(names, isNamed), values, options)];
}

/** How a record was found, for people: the digits of its id may be the printed number of another one. */
export function describeMatch({ by, family, recordId }: Hit): string {
  if (by === 'id') return family.printedNumber ? `internal id ${recordId}` : 'its id';
  return { number: 'its number', mention: 'an id in it', phone: 'phone', name: 'name' }[by];
}
