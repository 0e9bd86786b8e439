import { useDatabase } from '../support/database.ts';

const database = useDatabase();

/** Indexes of the tables that a callback writes: each delivery pays for them. A query that asks for each, and where it is. */
const onThePath: Record<string, [reason: string, query: string]> = {
  inbox_pkey: [
    'finds duplicates, and the body of a delivery by its id',
    `select from inbox where id = '018bcfe5-6800-8000-8000-000000000001'`,
  ],
  inbox_patient: [
    'export, erasure and search of a patient: the deliveries that name one',
    `select from inbox where patient_key(patient_of(envelope)) = patient_key('p')`,
  ],
  inbox_patients: [
    'export, erasure and search of a patient: the deliveries that name several. Others are not in it',
    `select from inbox where patients <> '{}' and patients && array['p']`,
  ],
  inbox_patients_before: [
    'the same, of deliveries that a former version has stored. New ones are not in it',
    `select from inbox where patients = '{}' and patients_beyond(envelope) && array['p']`,
  ],
  inbox_thing: [
    'erasure and the page of a record: the deliveries about it, in families without versions. Receipts are not in it',
    `select from inbox
     where family not in ('receipt', 'appointment', 'review_request', 'payment_request', 'practice_change', 'notice', 'other')
       and business_id = 'b1' and thing_of(family, envelope) = '1'`,
  ],
  inbox_other: [
    'erasure: bodies whose words are not indexed yet. Only events that no family lists are in it',
    `select id from inbox where family = 'other' and id > '018bcfe5-6800-8000-8000-000000000001' order by id limit 500`,
  ],
  inbox_late: [
    'the check of states: what arrived in the last days long after its event. Other deliveries are not in it',
    `select received_at, id from inbox
     where event_time at time zone 'UTC' < (received_at at time zone 'UTC') - interval '1 day'
       and received_at >= now() - interval '3 days' order by received_at, id limit 5000`,
  ],
  pending_deliveries_pkey: [
    'the apply statement deletes by id',
    `delete from pending_deliveries where id = '018bcfe5-6800-8000-8000-000000000001'`,
  ],
  pending_deliveries_by_age: [
    'the sweep, the metric of the oldest one, and the check of late ones, without reading what was deleted',
    `select id from pending_deliveries where received_at >= now() - interval '1 minute' order by received_at limit 20000`,
  ],
  applied_deliveries_pkey: [
    'the status of a delivery; lists by event time; the retention',
    `select from applied_deliveries where id > '018bcfe5-6800-8000-8000-000000000001' order by id limit 20000`,
  ],
  applied_deliveries_of_business: [
    'reporting.delivery_health, deliveries and silence of a business and days, without reading the table',
    `select received_at, event_time, applied_at, id from applied_deliveries
     where business_id = 'b1' and reporting.day(received_at) >= reporting.today() - 30`,
  ],
  applied_deliveries_times: [
    'the overview and delivery_health of all businesses; the check whether a family applies anything. A few bytes per 128 pages',
    `select from applied_deliveries where applied_at > now() - interval '1 minute'`,
  ],
  applied_deliveries_received: [
    'the list of all deliveries, and the latency on the overview',
    `select id from applied_deliveries where (received_at, id) < (now(), '018bcfe5-6800-8000-8000-000000000001')
     order by received_at desc, id desc limit 51`,
  ],
  applied_deliveries_family_received: [
    'the list of the deliveries of a rare family. Receipts and appointments are not in it',
    `select id from applied_deliveries where family = 'prescription' order by received_at desc, id desc limit 51`,
  ],
  receipts_pkey: [
    'the upsert; a receipt of a business',
    `select from receipts where business_id = 'b1' and receipt_id = 1`,
  ],
  receipts_day: [
    'reporting.receipts and others of a business and days; the sums of an outdated day',
    `select net_amount from reporting.receipts where business_id = 'b1' and day >= reporting.today() - 30`,
  ],
  receipts_received: [
    'reporting.receipt_history of a business and days; receipts_as_of finds what was applied since',
    `select net_amount from receipts where business_id = 'b1' and reporting.day(received_at) = reporting.today()
       and applied_at > now() - interval '1 hour'`,
  ],
  receipts_phone: [
    'search for a phone',
    `select from receipts where phone_key(mobile) = phone_key('+919999999999')`,
  ],
  receipts_appointment: [
    'reporting.visits: the receipts of an appointment. Four bytes of each id',
    `select from receipts where aid = 'a1' and aid <> ''`,
  ],
  receipts_deleted: [
    'reporting.deleted_receipts: one in thousands is',
    `select net_amount from reporting.deleted_receipts where business_id = 'b1' and day >= reporting.today() - 365`,
  ],
  receipts_outstanding_day: [
    'the reports of amounts due, of all businesses and of one. Paid receipts are not in it',
    'select due_amount from reporting.outstanding_receipts order by day, business_id limit 201',
  ],
  receipts_outstanding_phone: [
    'amounts due by phone number, of all businesses and of one. Paid receipts are not in it',
    `select due_amount from dues_by_phone order by business_id, phone, patient limit 201`,
  ],
  receipt_versions_pkey: [
    'the versions of a receipt',
    `select from receipt_versions where receipt_id = 1 and business_id = 'b1'`,
  ],
  receipt_versions_day: [
    'reporting.receipt_history of a business and days',
    `select net_amount from receipt_versions where business_id = 'b1' and reporting.day(received_at) >= reporting.today() - 30`,
  ],
};

const ofDay = 'the view of all businesses and days. A few bytes per 128 pages';
const ofBusinessAndDay = 'the view of a business and days';
const ofAdmission = 'reporting.open_admissions: the parts of an admission';
const ofPerson = 'search for a word of a name or a phone number';
const upsert = 'the upsert; a record of a business';
const oneRow = 'the table has one row';
const replacedMonth = 'the worker replaces the sums of a month';
const shownMonth = 'the sums of a month with an outdated day';

/** All others: the query that asks for each. */
const others: Record<string, string> = {
  change_feed_pkey: 'one row',
  changed_records_pkey:
    'what was committed since positions were given. Nothing is in it while nobody has opened the feed',
  changes_pkey: 'a page of the feed; the last position',

  failed_deliveries_pkey: 'a replay deletes by id; the page of a failed delivery',
  resends_pkey: 'the upsert that counts a resend; the number of resends of a delivery',

  appointments_pkey: upsert,
  appointments_day: ofBusinessAndDay,
  appointments_received: 'reporting.appointment_history of a business and days',
  appointment_versions_pkey: 'the versions of an appointment; the time of completion',
  appointment_versions_day: 'reporting.appointment_history of a business and days',
  appointment_links_pkey: 'reporting.visits: the appointments that replace one',
  appointment_links_later: 'reporting.visits: the appointments that one replaces',
  appointment_starts_pkey:
    'the newest start of an appointment. Only those whose start is known are in it, and in the next two',
  appointment_starts_day: 'reporting.schedule of some days',
  appointment_starts_order: 'the first rows of reporting.schedule',
  consent_forms_pkey: upsert,
  consent_forms_day: ofDay,
  consent_forms_business_day: 'the sums of an outdated day',
  review_requests_pkey: upsert,
  review_requests_day: ofDay,
  review_requests_business_day: 'the sums of an outdated day',
  prescriptions_pkey: upsert,
  prescriptions_day: ofDay,
  payment_requests_pkey: upsert,
  payment_requests_day: ofDay,
  payment_requests_business_day: 'the sums of an outdated day',
  practice_changes_pkey: upsert,
  practice_changes_day: ofDay,
  admissions_pkey: upsert,
  admissions_day: ofBusinessAndDay,
  admissions_terms: ofPerson,
  admission_events_pkey: upsert,
  admission_events_of_admission: ofAdmission,
  admission_events_day: ofDay,
  admission_clearances_pkey: upsert,
  admission_clearances_of_admission: ofAdmission,
  admission_clearances_day: ofDay,
  admission_estimates_pkey: upsert,
  admission_estimates_of_admission: ofAdmission,
  admission_estimates_day: ofDay,
  notices_pkey: upsert,
  notices_day: ofDay,
  health_accounts_pkey: upsert,
  health_accounts_day: ofDay,
  care_contexts_pkey: upsert,
  care_contexts_day: ofDay,
  bookings_pkey: upsert,
  bookings_day: ofDay,
  bookings_terms: ofPerson,
  other_events_pkey: upsert,
  other_events_day: ofDay,
  other_events_user_delete: 'the problem of deleted users that nobody has looked at',
  erased_receipts_day: 'the sums of an outdated day',
  receipt_terms_pkey: 'the upsert of the terms of a receipt; deletion with the receipt',
  receipt_terms_terms: 'search for a word of a name, the end of a phone number or a part of a receipt number',

  kept_activities_month: replacedMonth,
  kept_activity_days_month: shownMonth,
  kept_appointments_month: replacedMonth,
  kept_appointment_days_month: shownMonth,
  kept_deliveries_month: replacedMonth,
  kept_doctor_months_day: replacedMonth,
  kept_activity_months_day: replacedMonth,
  kept_appointment_months_day: replacedMonth,
  kept_delivery_months_day: replacedMonth,
  kept_activities_day: 'the daily views of a business and days; the worker replaces the sums of a day',
  kept_activity_days_day: 'the totals of a business and days; the worker replaces the sums of a day',
  kept_appointments_day: 'the daily views of a business and days; the worker replaces the sums of a day',
  kept_appointment_days_day: 'the totals of a business and days; the worker replaces the sums of a day',
  kept_deliveries_day: 'the totals of a business and days; the worker replaces the sums of a day',
  sums_definitions_pkey: 'the definition of one kind of sums',
  wrong_sums_pkey: 'the upsert of a wrong day',

  reconciliations_pkey: 'the pages of a pass',
  reconciliation_pages_pkey: 'the pages of a pass that is continued',
  reconciled_days_pkey: 'the upsert of a day; reporting.completeness of a business and days',
  reconciled_deliveries_pkey: 'whether the reconciliation has made a delivery; the lists of deliveries',
  reconciled_deliveries_day: 'reporting.completeness of a business and days',
  reconciled_deliveries_found: 'the check for gaps found in the last day',
  unknown_records_pkey: 'the upsert of a record; deletion with its delivery',
  unknown_records_day: 'reporting.completeness of a business and days',

  inferred_days_pkey: 'the upsert of a day; reporting.completeness of a business and days',
  payments_pkey: 'the upsert; whether a payment was asked for',
  payments_of_receipt: 'deletion with the receipt',
  payments_due: 'the payments that are asked for again',
  payments_day: ofDay,
  named_prescriptions_pkey: 'whether a prescription is noted',
  named_prescriptions_due: 'the prescriptions that are asked for',
  named_prescriptions_delivery: 'deletion with the delivery of the appointment',

  quarantine_pkey: 'the upsert of a body that is sent again; the page of a rejected callback',
  quarantine_by_worth: 'the eviction beyond the limit',
  quarantine_open: 'the list of rejected callbacks, and the alert and metrics about them',
  quarantine_corrections: 'the list: which body corrects another',
  callback_paths_pkey: 'the family of a path, in reporting.quarantine',
  schema_drift_pkey: 'the upsert of a count',
  rejected_requests_pkey: 'the upsert of a count; the responses since a minute',
  destinations_pkey: 'a lease is renewed by id',
  destination_waiting_pkey: 'whether a record waits; the rows of a destination',
  destination_waiting_next: 'the records of a destination that are due',
  destination_attempts_pkey: 'no two attempts have one id',
  destination_attempts_last: 'the last attempts of a destination; those before them are deleted',
  dropped_bodies_pkey: 'the upsert of a count; the bodies dropped since a day',

  erasure_salt_one_row: oneRow,
  erasures_pkey: 'the certificate of an erasure',
  erased_pkey: 'the gate: whether a delivery was erased',
  patient_holds_pkey: 'whether a patient is held',
  records_of_erasure: 'the certificate of an erasure: when its records are destroyed',
  records_due: 'the retention: records to be destroyed',
  running_erasures_pkey: 'the upsert of a step',
  erasing_pkey: 'whether a delivery is being erased; the pages of a list',
  erasing_things: 'erasure: whether a record is listed',
  body_words_pkey: 'deletion with the body; whether a body has its words',
  body_words_words: 'erasure: bodies that contain an id as a word',
  erased_words_once: 'an id of a business is there once',
  erased_words_words: 'the gate: whether a body contains an erased id as a word',
  uncertain_bodies_pkey: 'the page of a body to decide about; whether one was decided to be kept',
  uncertain_bodies_open: 'the list of bodies to decide about',
  uncertain_bodies_of_erasure: 'the certificate of an erasure: how many are undecided',
  patient_pseudonyms_pkey: 'the patients of an entry of the access log',

  access_log_pkey: 'the pages of the access log, and its verification',
  access_log_actor_entry: 'the entries of a user',
  access_log_name_entry: 'the entries of a user by name',
  access_log_action_entry: 'the entries of an action',
  access_log_time: 'the entries since a time. A few bytes per 128 pages',
  access_log_patients: 'the entries about a patient; whether a pseudonym is still in use',
  access_log_head_one_row: oneRow,

  aliases_pkey: 'the name of an id',
  notes_pkey: 'deletion of a note',
  notes_of_subject: 'the notes about a delivery',
  saved_views_pkey: 'the saved views of a user',
  alerts_pkey: 'the upsert of an alert',
  workers_pkey: 'the upsert of a heartbeat',
  uptime_pkey: 'the update and deletion of a time',
  platform_checks_pkey: 'the upsert of a result',
  session_key_pkey: oneRow,
  ended_sessions_pkey: 'the upsert of an ended session',
  database_identity_one_row: oneRow,
  lost_deliveries_pkey: 'a loss is listed once; whether one was received again',
  state_checks_pkey: 'the upsert of a check',
  refolds_pkey: 'the step of a pass',
  moved_sums_pkey: 'the sums of a day that have changed are added up',
  leases_pkey: 'a lease is taken and renewed by name',
  lease_tokens_pkey: 'the token of a lease is compared by name',
  blocked_deliveries_pkey: 'whether a delivery is set aside; each goes by id',
  spilled_deliveries_pkey: 'a callback is spilled once, and goes by id',
  receiver_migrations_pkey: 'which migrations were run',
  stale_day_indexes_pkey: 'the indexes to rebuild after a change of the time zone',
};

it('every index has a query that asks for it', async () => {
  const indexes = await database.rows(`
    select i.relname as name
    from pg_index join pg_class i on i.oid = indexrelid
    where i.relnamespace in ('public'::regnamespace, 'reporting'::regnamespace, 'withheld'::regnamespace)`);
  const names = indexes.map(({ name }) => String(name)).sort();
  expect(names).toEqual([...Object.keys(onThePath), ...Object.keys(others)].sort());
});

describe('of the tables that a callback writes', () => {
  beforeAll(async () => {
    // Enough of them for a plan like that of a large table.
    await database.rows(`
      with numbers as (
        select n, 'b' || n % 20 as business_id, now() - n * interval '10 minutes' as at, gen_random_uuid() as id
        from generate_series(20000, 1, -1) as n
      ), applied as (
        insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
        select id, 'receipt', business_id, at, at, at from numbers
      ), versions as (
        insert into receipt_versions (receipt_id, business_id, delivery_id, client_id, last_event, event_time, extra,
                                      received_at, applied_at)
        select n, business_id, id, 'c', 'receipt.created', at, '{}', at, at from numbers
      )
      insert into receipts (receipt_id, business_id, delivery_id, client_id, last_event, event_time, extra,
                            received_at, applied_at)
      select n, business_id, id, 'c', 'receipt.updated', at, '{}', at, at from numbers`);
    await database.rows('analyze');
  });

  it.each(Object.entries(onThePath))('%s is used', async (name, [_reason, query]) => {
    const session = await database.owner.pool.connect();
    try {
      // Small tables would be read completely, and sorting few rows is cheap.
      await session.query(`set enable_seqscan = off; set enable_sort = off`);
      const { rows } = await session.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${query}`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(new RegExp(`\\b(using|on) ${name}\\b`));
    } finally {
      session.release(true);
    }
  });
});
