-- One for each question that many rows would answer slowly. An index that is another one now, as in another time zone, is made
-- anew; merges wait meanwhile. Those of families' tables are partial: so no plan of a merge, which looks rows up by their keys,
-- takes one of them, as it did while the table was small. With another function inside, an index needs another question.
do $do$
declare
  one record;
begin
  for one in
    select name, table_name, format('%s: %s %s, %s', question, table_name, definition, reporting.timezone()) as about, definition
    from (values
      ('receipts_day', 'public.receipts', 'A month of a business',
       '(business_id, reporting.day(created_at)) where created_at is not null'),
      ('receipts_undated', 'public.receipts', 'The same, of the others', '(business_id) where created_at is null'),
      ('receipts_due', 'public.receipts', 'Who has to pay a business',
       '(business_id) where deleted_at is null and reporting.amount_due(net_amount, amount_paid, amount_due) > 0'),
      ('receipts_patient', 'public.receipts', 'The receipts of a patient',
       '(business_id, patient_oid) where patient_oid is not null'),
      ('receipts_deleted', 'public.receipts', 'What a business has deleted in some days',
       '(business_id, reporting.day(deleted_at)) where deleted_at is not null'),
      ('appointments_day', 'public.appointments', 'A month of a business',
       '(business_id, reporting.day(created_at)) where created_at is not null'),
      ('appointments_undated', 'public.appointments', 'The same, of the others', '(business_id) where created_at is null'),
      ('appointments_start', 'public.appointments', 'A day of a schedule',
       '(business_id, reporting.day(nullif(start_time, ''epoch''))) where nullif(start_time, ''epoch'') is not null'),
      ('consent_forms_day', 'public.consent_forms', 'Some days of a business',
       '(business_id, reporting.day(event_time)) where deleted_at is null'),
      ('prescriptions_day', 'public.prescriptions', 'Some days of a business',
       '(business_id, reporting.day(event_time)) where deleted_at is null'),
      ('review_requests_day', 'public.review_requests', 'Some days of a business',
       '(business_id, reporting.day(event_time)) where deleted_at is null'),
      ('payment_requests_day', 'public.payment_requests', 'Some days of a business',
       '(business_id, reporting.day(event_time)) where deleted_at is null'),
      ('admissions_open', 'public.admissions', 'Who is admitted now?',
       '(business_id) where deleted_at is null and reporting.admission_has_ended(stage, status) is false'),
      ('admission_clearances_of', 'public.admission_clearances', 'The clearances of an admission',
       '(business_id, admission_id) where admission_id is not null'),
      ('admission_estimates_of', 'public.admission_estimates', 'The estimates of an admission',
       '(business_id, admission_id) where admission_id is not null'),
      -- Callbacks are stored nearly in this order. It has a row for 128 pages, and none for those that are being filled. Several ranges
      -- of days for each, since new callbacks fill the places of those that an erasure has rewritten: plain ones read everything then.
      ('inbox_day', 'receiver.inbox', 'The callbacks, or events, of some days',
       'using brin (reporting.day(received_at) date_minmax_multi_ops, reporting.day(event_time) date_minmax_multi_ops)'),
      ('inbox_stored', 'receiver.inbox', 'What was stored since the last comparison', 'using brin (stored_at)'),
      ('inbox_user_deletions', 'receiver.inbox', 'Which users has the platform deleted?',
       '(received_at) where family = ''other'' and event = ''user.delete'''),
      ('quarantine_open', 'receiver.quarantine', 'What is rejected, and has to be looked at?', '(reason) where replayed_at is null'),
      ('access_log_at', 'public.access_log', 'What is older than it is kept?', 'using brin (at)'),
      {{search_indexes}}
    ) as indexes (name, table_name, question, definition)
  loop
    if obj_description(to_regclass(split_part(one.table_name, '.', 1) || '.' || one.name), 'pg_class') is distinct from one.about then
      execute format('drop index if exists %s.%I', split_part(one.table_name, '.', 1), one.name);
      execute format('create index %I on %s %s', one.name, one.table_name, one.definition);
      execute format('comment on index %s.%I is %L', split_part(one.table_name, '.', 1), one.name, one.about);
    end if;
  end loop;
end
$do$;
