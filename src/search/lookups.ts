import { type RawBuilder, sql } from 'kysely';
import { uuid } from '../common/uuid.ts';
import { words } from '../common/words.ts';
import { type Family, publicKey } from '../families/index.ts';
import { allowBitmaps, isNamed } from '../privacy/find-deliveries.ts';
import { businesses, read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { setPlanForAnySize } from '../store/transactions.ts';
import { type AmountAndDay, readAmountAndDay } from './amount-and-day.ts';
import { hasId } from './has-id.ts';
import { type Hit, shownHits } from './hit.ts';

/** A search by personal data is an entry of the access log. */
export const personalLookups = ['phone', 'end of a phone number', 'name', 'patient'] as const;

/** The separators that people write into phone numbers. */
const separators = /[\s().-]/g;

/** With the country code, or ten digits with any spelling of +91 in front. */
const phone = /^(\+\d{8,15}|(0?0?91|0)?\d{10})$/;
const phoneEnd = /^(\d ?){4,9}$/;

/** Without digits, which are ids, and wildcards of `like`. */
const personName = /^\p{L}[\p{L}\p{M}\s.'’-]+$/u;

const receipt = (condition: RawBuilder<unknown>, from = sql`receipts r`) => sql`
  select 'receipt' as kind, r.business_id, r.receipt_id::text as id, coalesce(r.created_at, r.event_time) as at,
         jsonb_build_object(
           'patient', r.patient_oid, 'name', r.name, 'number', r.receipt_number, 'net', r.net_amount::text, 'paid', r.amount_paid::text,
           'due', r.amount_due::text, 'clinic', r.clinic_id, 'doctor', r.doctor_oid, 'deleted', r.deleted_at is not null
         ) as details
  from ${from} where ${condition}`;

const appointment = (condition: RawBuilder<unknown>, from = sql`appointments a`) => sql`
  select 'appointment' as kind, a.business_id, a.appointment_id as id, coalesce(a.created_at, a.event_time) as at,
         jsonb_build_object(
           'patient', a.patient_id, 'clinic', a.clinic_id, 'doctor', a.doctor_id, 'status', a.status
         ) as details
  from ${from} where ${condition}`;

/** The newest of more receipts with a term would take long to find. */
const mostCandidates = 1_000;

/** The receipts with these terms, see src/store/search-terms.ts; the row itself tells whether it still has them. */
const withTerms = (terms: RawBuilder<unknown>, condition = sql`true`) =>
  receipt(
    sql`receipt_terms_of(r.name, r.mobile, r.receipt_number) @@ ${terms} and ${condition}`,
    sql`(select business_id, receipt_id from receipt_terms where terms @@ ${terms} limit ${mostCandidates}) t
      join receipts r on r.business_id = t.business_id and r.receipt_id = t.receipt_id`,
  );

/** A name has every word, or words that begin so. */
const wordsOf = (text: string) =>
  sql`(select string_agg('''n' || word || ''':*', ' & ')::tsquery from unnest(name_words(${text})) as word)`;

const partsOf = (text: string) =>
  sql`(select string_agg('''#' || part || '''', ' & ')::tsquery from unnest(number_parts(number_key(${text}))) as part)`;

const endOf = (digits: string) => sql`${`'p${[...digits].reverse().join('')}':*`}::tsquery`;

const issuedFor = ({ amount, day }: AmountAndDay) =>
  receipt(sql`
    r.business_id = any(array(select business_id from businesses))
    and reporting.day(coalesce(r.created_at, r.event_time)) = ${day}::date
    and ${amount}::numeric in (r.net_amount, r.amount_paid, r.receipt_amount, r.amount_due)`);

interface Asked {
  text: string;
  /** Whether the user may search for people by a part of what is known of them. */
  mayNamePeople: boolean;
  /** The day, such as 2026-11-21. */
  today: string;
}

/** What a text may be, each with a query for the columns of Hit: one look-up in an index, or one for each business. */
export function lookupsOf(families: readonly Family[], { text, mayNamePeople, today }: Asked) {
  const digits = text.replace(separators, '');
  const amountAndDay = readAmountAndDay(text, today);
  const lookups: Record<string, RawBuilder<unknown> | false | undefined> = {
    'message id':
      uuid.test(text) &&
      sql`select 'delivery' as kind, business_id, id::text, event_time as at, '{}'::jsonb as details
          from inbox where id = ${text}::uuid`,
    'rejected message id':
      uuid.test(text) &&
      sql`select 'quarantine', null, id::text, received_at, '{}'::jsonb from quarantine where id = ${text}::uuid`,
    ...Object.fromEntries(families.map((family) => [`${words(family.name)} id`, byId(family, text)])),
    'receipt number': withTerms(
      partsOf(text),
      sql`strpos(number_key(r.receipt_number), number_key(${text})) > 0`,
    ),
    'amount and day': amountAndDay && issuedFor(amountAndDay),
    phone: phone.test(digits) && receipt(sql`phone_key(r.mobile) = phone_key(${text})`),
    'end of a phone number': mayNamePeople && phoneEnd.test(text) && withTerms(endOf(digits)),
    name: mayNamePeople && personName.test(text) && withTerms(wordsOf(text)),
    patient:
      mayNamePeople &&
      sql`select 'patient', null, ${text}::text, null::timestamptz, jsonb_build_object('patient', ${text}::text)
          where ${isNamed(sql`${text}::text`)}`,
  };
  return Object.entries(lookups).flatMap(([by, query]) => (query ? [{ by, query }] : []));
}

function byId(family: Family, text: string): RawBuilder<unknown> | false {
  const { name, table } = family;
  const key = publicKey(family);
  const condition = key && hasId(family, text);
  if (!condition) return false;
  const isOne = sql`business_id = any(array(select business_id from businesses)) and ${condition}`;
  if (name === 'receipt') return receipt(isOne);
  if (name === 'appointment') return appointment(isOne);
  return sql`
    select ${name}::text as kind, business_id, ${sql.ref(key)}::text as id, event_time as at, '{}'::jsonb as details
    from ${sql.table(table)} where ${isOne}`;
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

/** Runs a query with look-ups in indexes alone: the planner has no statistics of the terms. */
export const readByIndexes = <Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> =>
  db.transaction().execute(async (tx) => {
    await setPlanForAnySize(tx);
    await allowBitmaps(tx);
    return read(tx, query);
  });

/** The appointments of patients, and those that some receipts name, newest first. */
export function appointmentsOf(patients: readonly string[], receipts: readonly Hit[]): RawBuilder<Hit> {
  const ofPatients = appointment(
    sql`i.family = 'appointment'`,
    sql`unnest(${patients}::text[]) as p (id)
      join inbox i on patient_key(patient_of(i.envelope)) = patient_key(p.id) and patient_of(i.envelope) = p.id
      join appointments a on i.family = 'appointment' and a.business_id = i.business_id
        and a.appointment_id = thing_of(i.family, i.envelope) and a.delivery_id = i.id`,
  );
  const ofReceipts = appointment(
    sql`r.aid <> ''`,
    sql`unnest(${receipts.map((hit) => hit.business_id)}::text[], ${receipts.map(({ id }) => id)}::bigint[]) as named (business, id)
      join receipts r on r.business_id = named.business and r.receipt_id = named.id
      join appointments a on a.business_id = r.business_id and a.appointment_id = r.aid`,
  );
  return sql<Hit>`
    select 'the same patient' as by, found.* from (${ofPatients} union ${ofReceipts}) as found
    order by at desc, id limit ${shownHits + 1}`;
}
