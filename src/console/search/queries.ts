import { type RawBuilder, sql } from 'kysely';
import { uuid } from '../../common/uuid.ts';
import { type Family, publicKey } from '../../families/index.ts';
import { isNamed } from '../../privacy/find-deliveries.ts';
import { hasId } from '../records/queries.ts';
import { businesses } from '../store.ts';
import { words } from '../ui/links.ts';

/** A search by personal data is an entry of the access log. */
export const personalLookups = ['phone', 'name', 'patient'] as const;

export interface Hit {
  /** The look-up that found it, such as phone. */
  by: string;
  /** delivery, quarantine, patient, or a family: that of a record. */
  kind: string;
  business_id: string | null;
  id: string;
  event: string | null;
  at: Date | null;
  patient: string | null;
}

export const shownHits = 50;

/** The separators that people write into phone numbers. */
const separators = /[\s().-]/g;

/** With the country code, or ten digits with any spelling of +91 in front. */
const phone = /^(\+\d{8,15}|(0?0?91|0)?\d{10})$/;

/** Without digits, which are ids, and wildcards of `like`. */
const personName = /^\p{L}[\p{L}\p{M}\s.'’-]+$/u;

/** What a text may be, each with a query for the columns of Hit: one look-up in an index, or one for each business. */
export function lookupsOf(families: readonly Family[], text: string, mayNamePeople: boolean) {
  const receipt = (condition: RawBuilder<unknown>) => sql`
    select 'receipt' as kind, business_id, receipt_id::text as id, last_event as event, event_time as at,
           patient_oid as patient
    from receipts where ${condition}`;
  const lookups: Record<string, RawBuilder<unknown> | false> = {
    'delivery id':
      uuid.test(text) &&
      sql`select 'delivery' as kind, business_id, id::text, event, event_time as at, null as patient
          from inbox where id = ${text}::uuid`,
    'quarantine id':
      uuid.test(text) &&
      sql`select 'quarantine', null, id::text, null, received_at, null from quarantine where id = ${text}::uuid`,
    ...Object.fromEntries(families.map((family) => [`${words(family.name)} id`, byId(family, text)])),
    'receipt number': receipt(
      sql`receipt_number <> '' and left(receipt_number, 100) = left(${text}, 100) and receipt_number = ${text}`,
    ),
    phone: phone.test(text.replace(separators, '')) && receipt(sql`phone_key(mobile) = phone_key(${text})`),
    name:
      mayNamePeople &&
      personName.test(text) &&
      receipt(sql`lower(left(name, 100)) like lower(left(${text}, 100)) || '%'`),
    patient:
      mayNamePeople &&
      sql`select 'patient', null, ${text}::text, null, null::timestamptz, ${text}::text where ${isNamed(sql`${text}::text`)}`,
  };
  return Object.entries(lookups).flatMap(([by, query]) => (query ? [{ by, query }] : []));
}

function byId(family: Family, text: string): RawBuilder<unknown> | false {
  const { name, table } = family;
  const key = publicKey(family);
  const condition = key && hasId(family, text);
  if (!condition) return false;
  return sql`
    select ${name}::text as kind, business_id, ${sql.ref(key)}::text as id, last_event as event, event_time as at, null as patient
    from ${sql.table(table)}
    where business_id = any(array(select business_id from businesses)) and ${condition}`;
}

/** The query for all look-ups, of each one more than is shown. */
export function searchQuery(lookups: ReturnType<typeof lookupsOf>): RawBuilder<Hit> {
  const parts = lookups.map(
    ({ by, query }) =>
      sql`(select ${by}::text as by, found.* from (${query}) as found limit ${shownHits + 1})`,
  );
  return sql<Hit>`
    with businesses as materialized (select business_id from ${businesses} as b)
    select * from (${sql.join(parts, sql` union all `)}) as hits
    order by at desc nulls first, id limit ${shownHits + 1}`;
}
