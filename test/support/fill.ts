import type pg from 'pg';
import { families } from '../../src/callbacks/families/index.ts';
import { columnsOf, literal, quoted, tableOf, valuesOf } from '../../src/receiver/store/columns.ts';
import { mergedCallbacks } from '../../src/receiver/store/statements/merge-records.ts';

/** Callbacks of a visit. */
const ofVisit = 5;

/** The clinic, the doctor and the name of a patient follow from the number `k`; that of the visit is `v`. */
const visits = `
visits as (
  select v, k, b, 'business-' || b as business, 'clinic-' || b || '-' || k % 4 as clinic, 'doctor-' || b || '-' || k % 9 as doctor,
         (170000000000000 + k)::text as patient, 'appointment-' || v as appointment,
         now() - (730 * (1 - v / ($1::float8 / ${ofVisit}))) * interval '1 day' - interval '2 hours' as at
  from generate_series(1, $1::int / ${ofVisit}) v
  cross join lateral (select floor(v * 0.7548776662 % 1 * ($1::int / 4 / ${ofVisit}))::int as k) patient
  -- The largest of a hundred businesses has a tenth of all.
  cross join lateral (select floor(100 * (k * 0.6180339887 % 1) ^ 2)::int as b) business
)`;

const seconds = (at: string) => `floor(extract(epoch from ${at}))`;
const name = (of: string) =>
  `initcap((array['a', 'ni', 'ra', 'su', 'de', 'vi', 'ka', 'me', 'jo', 'pra', 'sha', 'lo', 'ti', 'ma', 'u'])[1 + ${of} % 15]
    || (array['sha', 'ta', 'vin', 'resh', 'mal', 'ya', 'nan', 'deep', 'kumar', 'lia', 'rao', 'gupta', 'bai', 'das', 'nair'])[1 + ${of} / 15 % 15])`;

/** `when`: a condition on the visit; `refers`: it names the appointment. */
type Event = [
  ...[family: string, event: string, minutes: number, when: string, record: string, data: string],
  refers?: 'refers',
];

/** @param less a condition on the visits of which less is paid, so much */
const receipt = (less: string, paid: number) => `
  'receipt_id', v, 'aid', appointment, 'doctor_oid', doctor, 'clinic_id', clinic, 'patient_oid', patient,
  'created_at', ${seconds("at + interval '60 minutes'")} * 1000, 'receipt_number', 'JA-' || b || '-' || v, 'receipt_status', 'SUCCESS',
  'receipt_url', 'https://files.invalid/receipts/' || md5(v::text), 'receipt_amount', 100 + v % 2000, 'net_amount', 100 + v % 2000,
  'amount_paid', case when ${less} then ${paid} else 100 + v % 2000 end, 'name', ${name('k')} || ' ' || ${name('(k / 225)')}, 'mobile', '+91' || 9000000000 + k, 'actor', 'doctor'`;

const appointment = (status: string) => `
  'appointment_id', appointment, 'doctor_id', doctor, 'clinic_id', clinic, 'patient_id', patient, 'status', '${status}',
  'created_at', ${seconds('at')}, 'start_time', ${seconds("at + interval '90 minutes'")}`;

const ofPatient = `'doctor_id', doctor, 'clinic_id', clinic, 'patient_id', patient, 'appointment_id', appointment`;

const prescription = `'prescription_id', 'prescription-' || v, ${ofPatient}, 'created_at', ${seconds('at')}`;

const form = `'id', 'form-' || v, 'docid', doctor, 'patientid', patient, 'type', 'mcert', 'url', 'https://files.invalid/forms/' || v`;

const review = `${ofPatient}, 'google_review_link', 'https://reviews.invalid/' || b`;

const request = `${ofPatient}, 'net_amount', 100 + v % 2000, 'url', 'https://pay.invalid/' || v`;

const admission = `'id', 'admission-' || v, 'pid', patient, 'docid', doctor, 'facilityid', clinic, 'admission_date', ${seconds('at')},
      'stage', 'ward', 'status', case when at < now() - interval '9 days' then 'DISCHARGED' else 'ADMITTED' end, 'totalbilled', 9000`;

const events: Event[] = [
  ['appointment', 'appointment.created', 0, 'true', 'appointment', appointment('BK')],
  ['appointment', 'appointment.statuschange', 61, 'true', 'appointment', appointment('CM')],
  ['receipt', 'receipt.created', 60, 'true', 'v::text', receipt('v % 2 = 0 or v % 17 = 0', 50), 'refers'],
  ['receipt', 'receipt.updated', 70, 'v % 2 = 0', 'v::text', receipt('v % 34 = 0', 0), 'refers'],
  ['prescription', 'prescription.created', 50, 'v % 2 = 1', `'prescription-' || v`, prescription],
  ['consent_form', 'mcert.created', 40, 'v % 5 = 0', `'form-' || v`, form],
  ['review_request', 'google_review.request', 80, 'v % 5 = 1', 'null', review, 'refers'],
  ['payment_request', 'receipt_payment.requested', 62, 'v % 5 = 2', 'null', request, 'refers'],
  ['admission', 'ipd_admissions.created', 90, 'v % 5 = 3', `'admission-' || v`, admission],
  ['other', 'abdm.consent.seen', 95, 'v % 5 = 4', 'null', `'oid', patient, 'note', 'n' || v`],
];

const callbacksOf = ([family, event, minutes, when, record, data, refers]: Event, n: number) => `
  select '${family}' as family, '${event}' as event, business, ${record} as record, at + interval '${minutes} minutes' as event_time,
         array['p:platform:' || patient${refers ? `, 'r:appointment:' || business || ':' || appointment` : ''}] as subjects,
         lpad(to_hex((v::bigint * 16 + ${n})), 18, '0') as number, jsonb_build_object(${data}) as data
  from visits where ${when}`;

/** $1 callbacks, in the order of their events. */
const callbacks = `
with ${visits}, callbacks as (${events.map(callbacksOf).join(' union all ')}), numbered as (
  select *, (lpad(to_hex(floor(extract(epoch from event_time) * 1000)::bigint), 12, '0') || '8000' || '8' || substr(number, 4))::uuid as id
  from callbacks
)
insert into receiver.inbox (id, family, event, client_id, business_id, record_id, version, event_time, subjects, envelope, received_at, stored_at)
select id, family, event, 'client', business, coalesce(record, id::text),
       lpad(to_hex(${seconds('event_time')}::bigint), 10, '0') || number, event_time, subjects,
       jsonb_build_object('event', event, 'event_time', ${seconds('event_time')}, 'timestamp', ${seconds('event_time')} + 1, 'client_id',
         'client', 'business_id', business, 'transaction_id', md5(number), 'data', data),
       event_time + interval '2 seconds', event_time + interval '2 seconds'
from numbered order by event_time`;

/** The rows that merges make, by the statement of a merge, without its locks. */
const rows = families.map(
  (family) => `
  with locked_records as materialized (
    select business_id, record_id, row_number() over () as n, true as is_locked
    from (select distinct business_id, record_id from receiver.inbox where family = ${literal(family.name)}) r
  ), ${mergedCallbacks(family)}
  insert into ${tableOf(family)} (${Object.keys(columnsOf(family)).map(quoted).join(', ')})
  select ${valuesOf(family).join(', ')} from merged_data m join newest n using (n) join locked_records k using (n)`,
);

/** What stands beside the path: a resend of a hundred callbacks, a rejection, an entry of the log, what failed. */
const beside = [
  `insert into receiver.changes (at, family, business_id, record_id, kind)
   select stored_at, family, business_id, record_id, 'changed' from receiver.inbox where family <> 'health_account'`,
  `insert into receiver.resends select id, 1, received_at from receiver.inbox where get_byte(uuid_send(id), 15) = 16`,
  `insert into receiver.quarantine (id, path, family, business_id, reason, errors, body, subjects, received_at, last_received_at, replayed_at)
   select gen_random_uuid(), '/path', family, business_id, 'invalid', '[{"path": "/data/x", "message": "wrong"}]',
          convert_to(envelope::text, 'UTF8'), subjects, received_at, received_at, case when get_byte(uuid_send(id), 14) < 250 then now() end
   from receiver.inbox where get_byte(uuid_send(id), 15) = 32`,
  `insert into public.access_log (at, actor, actor_name, address, action, subjects, filter, rows)
   select event_time, 'user-' || length(record_id), 'User', '192.0.2.1', 'reveal', array(select receiver.hash_of(s) from unnest(subjects) s), '{}', 1
   from receiver.inbox where get_byte(uuid_send(id), 15) % 64 = 2 order by event_time`,
  `insert into receiver.pending_deliveries (id, family, next_at, error)
   select id, family, 'infinity', 'out of range' from receiver.inbox order by received_at desc limit 20`,
  `insert into receiver.heartbeats select generate_series(date_trunc('minute', now()) - interval '30 days', now(), '1 minute')`,
  `insert into receiver.aliases select 'clinic', 'clinic-0-' || n, 'Clinic ' || n, now(), 'platform' from generate_series(0, 3) n`,
];

/**
 * Fills a new database, always with the same, with callbacks of a hundred businesses in the order of their arrival in two years, and
 * with the rows that follow from them.
 */
export async function fill(pool: pg.Pool, count: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('set work_mem = 256000; set maintenance_work_mem = 256000');
    // An index of many rows is made in a fraction of the time.
    const indexes = await client.query<{ made: string; dropped: string }>(`
      select string_agg(pg_get_indexdef(i), ';') as made, string_agg(format('drop index %s', i), ';') as dropped
      from unnest('{receiver.inbox_record,receiver.inbox_subject,receiver.inbox_second_subject,receiver.inbox_subjects}'::regclass[]) i`);
    await client.query(indexes.rows[0]!.dropped);
    await client.query(callbacks, [count]);
    await client.query(indexes.rows[0]!.made);
    await client.query('analyze receiver.inbox');
    for (const statement of [...rows, ...beside]) await client.query(statement);
    await client.query('vacuum analyze');
  } finally {
    client.release(true);
  }
}
