import type pg from 'pg';
import type { RecordKey } from '../callbacks/delivery.ts';
import type { Family } from '../callbacks/families/family.ts';
import { wholeNumber } from '../callbacks/families/field.ts';
import { patientSubject, recordSubject } from '../callbacks/subjects.ts';
import { uuid } from '../common/words.ts';
import type { Core } from '../receiver/feature.ts';
import { businessesOfInbox, keyOf, literal, quoted, tableOf } from '../receiver/store/columns.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import { maskRow } from './mask.ts';
import { type FamilyRecord, hasPublicKey, patientsOf, personIn, type Row, readRows } from './read-record.ts';

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

export interface SearchResult {
  hits: Hit[];
  /** A delivery, or a body of the quarantine, with this id. */
  messages: { kind: 'delivery' | 'quarantine'; id: string }[];
  /** There may be more. */
  isCut: boolean;
}

export const maxHits = 50;
/** Few digits are the end of many numbers: records with that id are listed beside them. */
const maxNumbers = 25;
/** Businesses in which an id is looked up, and mentions of it; in any other one as `business:id`. */
const maxBusinesses = 20_000;
const maxMentioned = 2_000;
const timeoutMs = 5_000;

/** With the country code, or ten digits with any spelling of +91 in front. */
const phone = /^(\+\d{8,15}|(0?0?91|0)?\d{10})$/;
const personName = /^\p{L}[\p{L}\p{M}\s.'’-]+$/u;

/**
 * Finds records by the number that is printed on them, or its last digits, then by an id of any kind, and, if people may be named, by a phone number in
 * any spelling or by words of a name; and messages by their ids. It adds the entry of the access log.
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
  const { subjects, ...result } = await inTransaction(core.pool, first, (client) =>
    find(client, core.families, term, mayNamePeople),
  );
  const by = [...new Set(result.hits.map((hit) => hit.by))];
  const rows = result.hits.length + result.messages.length;
  // Also without hits: the reader knows then that nobody has this number. Without names nothing is personal.
  if (mayNamePeople) await logAccess(core, { actor, action: 'search', subjects, filter: { by }, rows });
  return result;
}

async function find(
  client: pg.ClientBase,
  families: readonly Family[],
  term: string,
  mayNamePeople: boolean,
): Promise<SearchResult & { subjects: string[] }> {
  const text = `select business_id from (${businessesOfInbox}) b limit ${maxBusinesses}`;
  const { rows } = await client.query<{ business_id: string }>(text);
  const businesses = rows.map(({ business_id }) => business_id);
  const [, business = '', id] = /^(.*?):(.+)$/s.exec(term) ?? [];
  const matches: Match[] = [];
  if (term !== '')
    for (const { text, values } of [
      ...byNumber(families, term),
      ...lookups(families, term, mayNamePeople, businesses),
      ...(id === undefined ? [] : lookups(families, id, mayNamePeople, [business]).slice(0, 2)),
    ])
      matches.push(...(await client.query<Match>(text, values)).rows);
  const byRecord = new Map(matches.toReversed().map((match) => [keyIn(match), match]));
  const distinct = [...byRecord.values()].toReversed();
  const shown = distinct.slice(0, maxHits);
  const hits: Hit[] = [];
  for (const family of families) {
    const own = shown.filter((match) => match.family === family.name);
    if (own.length === 0) continue;
    const rows = await readRows(client, family, own);
    for (const [n, { delivery, ...match }] of own.entries()) {
      const id = hasPublicKey(family) ? match.recordId : delivery;
      const { row, name, phone } = rows[n]!;
      const values = mayNamePeople ? { row, name, phone } : { row: row && maskRow(row, family) };
      hits.push({ ...match, family, id, ...values });
    }
  }
  // What is printed on paper comes first: the same digits may be the id of another record.
  hits.sort(
    (a, b) =>
      kindsOfMatch.indexOf(a.by) - kindsOfMatch.indexOf(b.by) ||
      (a.by === 'number' ? 0 : b.at.getTime() - a.at.getTime()),
  );
  const messages = uuid.test(term)
    ? (await client.query<SearchResult['messages'][number]>(messagesWithId, [term])).rows
    : [];
  const isCut =
    distinct.length > maxHits || matches.filter(({ by }) => by === 'number').length === maxNumbers;
  return { hits, messages, isCut, subjects: await patientsOf(client, hits) };
}

/** `delivery`: its newest. */
interface Match extends RecordKey {
  by: FoundBy;
  at: Date;
  delivery: string;
}
const keyIn = ({ family, businessId, recordId }: Match) => JSON.stringify([family, businessId, recordId]);

// Without case, spaces and signs: JA-2671 is ja 2671. Of ASCII alone, so that PostgreSQL does the same in any locale.
const signs = ' -/._,:#';
const numberKey = (text: string) =>
  plain(text)
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/[ \-/._,:#]/g, '');
const numberKeyOf = (expression: string) =>
  `translate(${plainOf(expression)}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ${signs}', 'abcdefghijklmnopqrstuvwxyz')`;

/** By a printed number, or by its last digits: where these are all its digits first, then the shortest number. */
function byNumber(families: readonly Family[], term: string) {
  const key = numberKey(term);
  return families.flatMap((family) => {
    if (family.printedNumber === undefined || key === '') return [];
    const column = `t.${quoted(family.printedNumber)}`;
    const number = numberKeyOf(column);
    // Its digits in their order: of 300,000 receipts that takes 60 ms, and making each number plain 440.
    const mayBe = `(length(${column}) <> octet_length(${column}) or ${column} like '%${key.replace(/\D+/g, '').replace(/./g, '$&%')}')`;
    const [condition, order] = /^\d+$/.test(key)
      ? [
          `right(${number}, length($1::text)) = $1`,
          `${number} ~ ('\\D' || $1 || '$') desc, length(${number}),`,
        ]
      : [`${number} = $1`, ''];
    const options = { order: `${order} t.event_time desc`, limit: maxNumbers };
    return scan(family, 'number', `${mayBe} and ${condition}`, key, options);
  });
}

/** The first two are by ids. */
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
  const words = plainText.split(/\s+/).map((word) => `% ${word.replace(/[\\%_]/g, '\\$&')}%`);
  const some = businesses.slice(0, maxMentioned);
  const mentions = forms.flatMap((id) => [
    ...[...new Set(referredTo)].flatMap((name) => some.map((business) => recordSubject(name, business, id))),
    ...(mayNamePeople ? [patientSubject('platform', id, ''), patientSubject('abha', id, '')] : []),
    ...(mayNamePeople ? some.map((business) => patientSubject('partner', id, business)) : []),
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
    // A sub-select: PostgreSQL would expect so many to match a large part, and read all.
    byIndex('mention', 'i.subjects && (select $1::text[])', [
      mentions.filter((subject) => subject !== undefined),
    ]),
    ...(phone.test(digits) ? people.map((family) => scan(family, 'phone', isPhone(family), digits)) : []),
    ...(personName.test(plainText)
      ? people.map((family) => scan(family, 'name', isNamed(family), words))
      : []),
  ];
}

// Digits of scripts of India and of Arabic; dashes; invisible characters, such as joiners.
const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66];
const dashes = '\u2010\u2011\u2012\u2013\u2014\u2015\u2212';
const invisible =
  '\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff';
const from = `${zeros.map((zero) => String.fromCharCode(...Array.from('0123456789', (_, n) => zero + n))).join('')}${dashes}${invisible}`;
const to = '0123456789'.repeat(zeros.length) + '-'.repeat(dashes.length);
const folded = new Map(Array.from(from, (character, n) => [character, to[n] ?? '']));

/** A text as it is compared: NFKC, with ASCII digits and dashes, without invisible characters. */
const plain = (text: string) =>
  Array.from(text.normalize('NFKC'), (character) => folded.get(character) ?? character).join('');

const plainOf = (expression: string) =>
  `(select case when octet_length(x) = length(x) then x else translate(normalize(x, NFKC), '${from}', '${to}') end
    from (values (${expression})) v(x))`;

const byIndex = (by: FoundBy, condition: string, values: unknown[]) => ({
  text: `select * from (
    select distinct on (i.business_id, i.family, i.record_id) '${by}' as by, i.family, i.business_id as "businessId",
           i.record_id as "recordId", i.id as delivery, i.event_time as at
    from receiver.inbox i where ${condition} order by i.business_id, i.family, i.record_id, i.version desc
  ) hits order by at desc limit ${maxHits + 1}`,
  values,
});

/** Reads a family's table for a condition on a row `t`. @param value $1 */
const scan = (
  family: Family,
  by: FoundBy,
  condition: string,
  value: unknown,
  { order = 't.event_time desc', limit = maxHits + 1 } = {},
) => ({
  text: `select '${by}' as by, ${literal(family.name)} as family, t.business_id as "businessId",
           t.${quoted(keyOf(family).at(-1)!)}::text as "recordId", t.delivery_id as delivery, t.event_time as at
         from ${tableOf(family)} t where ${condition} order by ${order} limit ${limit}`,
  values: [value],
});

const isPhone = ({ people }: Family) =>
  people!.phones
    .map(personIn)
    // The first for the sake of a partial index.
    .map((text) => `(${text} is not null and reporting.phone_key(${text}) = reporting.phone_key($1))`)
    .join(' or ');
/** A name with every word, or words that begin so. */
const isNamed = ({ people }: Family) =>
  people!.names.map((path) => `' ' || ${plainOf(personIn(path))} ilike all ($1::text[])`).join(' or ');

/** How a record was found, for people: the digits of its id may be the printed number of another one. */
export function describeMatch({ by, family, recordId }: Hit): string {
  if (by === 'id') return family.printedNumber ? `internal id ${recordId}` : 'its id';
  return { number: 'its number', mention: 'an id in it', phone: 'phone', name: 'name' }[by];
}

const messagesWithId = `
select 'delivery' as kind, id from receiver.inbox where id = $1
union all select 'quarantine', id from receiver.quarantine where id = $1`;
