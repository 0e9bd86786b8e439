import { type RawBuilder, sql } from 'kysely';
import { type Family, publicKey } from '../families/index.ts';
import { receipt } from '../families/receipt.ts';

type Sql = RawBuilder<unknown>;

interface Listed {
  /** What a list shows of a row, `made`: see Details. */
  details: Sql;
  /** The terms that a row is found by, where they have an index of their own. */
  terms?: Sql;
}

/** When an appointment begins, as far as that is known. */
const begins = sql`start_of(made.extra)`;

const listed: Readonly<Record<string, Listed>> = {
  receipt: {
    details: sql`jsonb_build_object(
      'patient', made.patient_oid, 'name', made.name, 'phone', made.mobile, 'number', made.receipt_number,
      'net', made.net_amount::text, 'paid', made.amount_paid::text, 'due', made.amount_due::text, 'clinic', made.clinic_id,
      'doctor', made.doctor_oid, 'deleted', made.deleted_at is not null)`,
  },
  appointment: {
    details: sql`jsonb_build_object(
      'patient', made.patient_id, 'clinic', made.clinic_id, 'doctor', made.doctor_id, 'status', made.status,
      'begins', ${begins}::text, 'isOpen', reporting.appointment_state(made.status) in ('booked', 'ongoing')
        and coalesce(reporting.day(${begins}) >= reporting.today(), true))`,
  },
  admission: {
    details: sql`jsonb_build_object(
      'patient', made.pid, 'name', person_name(made.patient->'name'), 'phone', made.patient->>'phone', 'net', made.totalbilled::text, 'paid', made.totalpaid::text,
      'due', (made.totalbilled - coalesce(made.totalpaid, 0))::text, 'clinic', made.facilityid, 'doctor', made.docid, 'status', made.status)`,
    terms: sql`person_terms_of(made.patient)`,
  },
  booking: {
    details: sql`jsonb_build_object(
      'patient', made.patient->>'id', 'name', coalesce(person_name(made.billing->'name'), person_name(made.patient->'name')),
      'phone', made.billing->>'phone', 'status', made.state)`,
    terms: sql`(person_terms_of(made.billing) || person_terms_of(made.patient))`,
  },
};

/**
 * The query for records of a family with the columns of Hit.
 *
 * @param condition on a row, `made`
 * @param from where `made` is from, if not from the whole table
 */
export function recordsWhere(family: Family, condition: Sql, from?: Sql) {
  const { details = sql`'{}'::jsonb` } = listed[family.name] ?? {};
  const { createdAt, fields } = family;
  const times = [
    ...(fields.created_at ? ['created_at'] : []),
    ...(createdAt ? ['first_event_time'] : []),
    'event_time',
  ];
  const at = sql`coalesce(${sql.join(times.map((time) => sql.ref(`made.${time}`)))})`;
  const id = sql.ref(`made.${publicKey(family) ?? 'delivery_id'}`);
  return sql`
    select ${family.name}::text as kind, made.business_id, ${id}::text as id, ${at} as at, ${details} as details
    from ${from ?? sql`${sql.table(family.table)} made`} where ${condition}`;
}

/** The newest of more records with a term would take long to find. */
const mostCandidates = 1_000;

/** The receipts with these terms, see src/store/search-terms.ts; the row itself tells whether it still has them. */
export const receiptsWithTerms = (terms: Sql, condition: Sql = sql`true`) =>
  recordsWhere(
    receipt,
    sql`receipt_terms_of(made.name, made.mobile, made.receipt_number) @@ ${terms} and ${condition}`,
    sql`(select business_id, receipt_id from receipt_terms where terms @@ ${terms} limit ${mostCandidates}) t
      join receipts made on made.business_id = t.business_id and made.receipt_id = t.receipt_id`,
  );

/** The records of other families with these terms. */
export const othersWithTerms = (families: readonly Family[], terms: Sql) => {
  const found = families.flatMap((family) => {
    const own = listed[family.name]?.terms;
    return own ? sql`(${recordsWhere(family, sql`${own} @@ ${terms}`)} limit ${mostCandidates})` : [];
  });
  return sql.join(found, sql` union all `);
};
