import { type RawBuilder, sql } from 'kysely';
import { uuid } from '../common/uuid.ts';
import { words } from '../common/words.ts';
import { type Family, publicKey } from '../families/index.ts';
import { receipt } from '../families/receipt.ts';
import { isNamed } from '../privacy/find-deliveries.ts';
import { businesses } from '../store/read.ts';
import { hasId } from './has-id.ts';
import { type Hit, shownHits } from './hit.ts';
import { othersWithTerms, receiptsWithTerms, recordsWhere } from './records.ts';

/** A search by personal data is an entry of the access log. */
export const isPersonal = (by: string) => ['phone', 'end of a phone number', 'name', 'patient'].includes(by);

/** The separators that people write into phone numbers. */
const separators = /[\s().-]/g;

/** With the country code, or ten digits with any spelling of +91 in front. */
const phone = /^(\+\d{8,15}|(0?0?91|0)?\d{10})$/;
const phoneEnd = /^(\d ?){4,9}$/;

/** Without digits, which are ids, and wildcards of `like`. */
const personName = /^\p{L}[\p{L}\p{M}\s.'’-]+$/u;

/** A name has every word, or words that begin so. */
const wordsOf = (text: string) =>
  sql`(select string_agg('''n' || word || ''':*', ' & ')::tsquery from unnest(name_words(${text})) as word)`;

const partsOf = (text: string) =>
  sql`(select string_agg('''#' || part || '''', ' & ')::tsquery from unnest(number_parts(number_key(${text}))) as part)`;

const endOf = (digits: string) => sql`${`'p${[...digits].reverse().join('')}':*`}::tsquery`;

const withTerms = (families: readonly Family[], terms: RawBuilder<unknown>) =>
  sql`${receiptsWithTerms(terms)} union all ${othersWithTerms(families, terms)}`;

interface Asked {
  text: string;
  /** Whether the user may search for people by a part of what is known of them. */
  mayNamePeople: boolean;
}

/** What a text may be, each with a query for the columns of Hit: one look-up in an index, or one for each business. */
export function lookupsOf(families: readonly Family[], { text, mayNamePeople }: Asked) {
  const digits = text.replace(separators, '');
  const lookups: Record<string, RawBuilder<unknown> | false | undefined> = {
    'message id':
      uuid.test(text) &&
      sql`select 'delivery' as kind, business_id, id::text, event_time as at, '{}'::jsonb as details
          from inbox where id = ${text}::uuid`,
    'rejected message id':
      uuid.test(text) &&
      sql`select 'quarantine', null, id::text, received_at, '{}'::jsonb from quarantine where id = ${text}::uuid`,
    ...Object.fromEntries(families.map((family) => [`${words(family.name)} id`, byId(family, text)])),
    'receipt number': receiptsWithTerms(
      partsOf(text),
      sql`strpos(number_key(made.receipt_number), number_key(${text})) > 0`,
    ),
    phone:
      phone.test(digits) &&
      sql`${recordsWhere(receipt, sql`phone_key(made.mobile) = phone_key(${text})`)}
          union all ${othersWithTerms(families, sql`('p' || phone_end(${text}))::tsquery`)}`,
    'end of a phone number': mayNamePeople && phoneEnd.test(text) && withTerms(families, endOf(digits)),
    name: mayNamePeople && personName.test(text) && withTerms(families, wordsOf(text)),
    patient:
      mayNamePeople &&
      sql`select 'patient', null, ${text}::text, null::timestamptz, jsonb_build_object('patient', ${text}::text)
          where ${isNamed(sql`${text}::text`)}`,
  };
  return Object.entries(lookups).flatMap(([by, query]) => (query ? [{ by, query }] : []));
}

function byId(family: Family, text: string): RawBuilder<unknown> | false {
  const condition = publicKey(family) && hasId(family, text);
  if (!condition) return false;
  return recordsWhere(
    family,
    sql`made.business_id = any(array(select business_id from businesses)) and ${condition}`,
  );
}

/** The query for all look-ups, of each one more than is shown. */
export function searchQuery(lookups: ReturnType<typeof lookupsOf>, most = shownHits): RawBuilder<Hit> {
  const parts = lookups.map(
    ({ by, query }) =>
      sql`(select ${by}::text as by, found.* from (${query}) as found (kind, business_id, id, at, details)
        order by at desc nulls last limit ${most + 1})`,
  );
  return sql<Hit>`
    with businesses as materialized (select business_id from ${businesses} as b)
    select * from (${sql.join(parts, sql` union all `)}) as hits
    order by at desc nulls first, id`;
}
