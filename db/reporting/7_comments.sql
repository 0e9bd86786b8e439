-- Of the columns whose names do not say it: the unit, the rule, what null means. A view: there alone.
do $do$
declare
  one record;
begin
  for one in
    select attrelid::regclass as view, attname as name, comment
    from (values
      (null, 'aid', 'The appointment; an id of another kind is possible, because the interface does not explain it'),
      (null, 'day', 'The day of its last event'),
      ('.*receipts|receipts_daily', 'day', 'The day on which it was issued'),
      ('(doctor|clinic|business)e?s_daily', 'day', 'Receipts: the day on which they were issued; others: of their last event'),
      ('appointments(_daily)?', 'day', 'The day on which it was booked'),
      ('schedule', 'day', 'The day on which it begins'),
      ('(open_)?admissions', 'day', 'The day of the admission'),
      ('receipt_history|deliver.*|quarantine', 'day', 'The day on which the callback was received'),
      (null, 'issued_at|booked_at', 'When it was created; where no callback says so, the time of its earliest event'),
      (null, 'completed_at', 'When the first callback that completed it was made; null: not completed, or the time is not known'),
      (null, 'due_amount', 'Net less paid; as the platform states it, where one of them is not known; negative: paid too much'),
      ('.*admissions', 'due_amount', 'Amount billed and not paid; null: nothing was billed'),
      (null, 'deleted_receipts', 'Receipts of the day that were deleted; the other columns do not include them'),
      ('receipt_history', 'version', 'The number of the callback, from 1; the highest is the current one'),
      (null, 'rescheduled', 'Replaced by another appointment, which is counted on the day on which that was booked; the shares of others leave them out'),
      (null, 'has_ended', 'Judged by stage and status, see the function admission_has_ended'),
      (null, 'is_open|open_clearances', 'Still to be given, see the function clearance_is_open'),
      ('deliveries', 'status', 'received: not merged into its row yet; applied: merged; failed: PostgreSQL refused its data, see error'),
      ('deliveries', 'source', 'callback: the platform sent it; reconcile: the receiver read it from the platform, because it was missing or differed'),
      (null, 'reconciled|quarantined', 'Not included in received'),
      ('schema_drift', 'field', 'As a JSON pointer into the callback; /event: no family lists the event'),
      ('schema_drift', 'kind', 'unknown: not documented; missing: documented but absent; value: a new short text; unfit: it does not fit its column, and is in extra'),
      (null, 'expected_callbacks', 'Expected since the last callback: the average of the same period of the week in the four weeks before; null: less than a week of callbacks'),
      ('aliases', 'source', 'person: somebody entered or imported it; platform: from the platform''s directory')
    ) as comments (views, column_name, comment)
    join pg_attribute on attname ~ ('^(' || column_name || ')$') and attnum > 0
    join pg_class on pg_class.oid = attrelid and relnamespace = 'reporting'::regnamespace and relkind = 'v'
    where (views is null or relname ~ ('^(' || views || ')$')) and format('reporting.%I', relname) = any({{views}})
    order by views is not null
  loop
    execute format('comment on column %s.%I is %L', one.view, one.name, one.comment);
  end loop;
end
$do$;
