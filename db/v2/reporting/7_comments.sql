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
      ('.*receipts', 'day', 'The day on which it was issued'),
      ('(receipt|doctor|clinic|business)s_daily', 'day', 'Receipts: the day on which they were issued; others: of their last event'),
      ('appointments(_daily)?', 'day', 'The day on which it was booked'),
      ('schedule', 'day', 'The day on which it begins'),
      ('(open_)?admissions', 'day', 'The day of the admission'),
      ('receipt_history|deliver.*|quarantine', 'day', 'The day on which the callback was received'),
      (null, 'issued_at', 'When it was created; where no callback says so, the time of its earliest event'),
      (null, 'booked_at', 'When it was booked (created_at); where no callback says so, the time of its earliest event'),
      (null, 'completed_at', 'When the first callback that completed it was made; null: not completed, or the time is not known'),
      (null, 'starts_at', 'When it begins (start_time), as far as callbacks or the reconciliation tell it'),
      (null, 'state', 'What the status means, see the function appointment_state'),
      ('bookings', 'state', 'As the platform names it'),
      (null, 'gross_amount', 'Before discounts (receipt_amount)'),
      (null, 'additional_discount_value', 'As it was entered: an amount or a percentage, see its type'),
      (null, 'net_amount', 'Amount to pay after discounts, as the platform computed it'),
      (null, 'paid_amount', 'Amount paid so far (amount_paid); null if the platform does not send it'),
      (null, 'due_amount', 'Net less paid; as the platform states it (amount_due), where one of them is not known; negative: paid too much'),
      ('.*admissions', 'due_amount', 'Amount billed and not paid; null: nothing was billed'),
      (null, 'estimated_amount', 'quantity × rate, before the discount; null: no rate is known'),
      (null, 'deleted_receipts', 'Receipts of the day that were deleted; the other columns do not include them'),
      (null, 'deleted_net_amount', 'Amount to pay of the deleted receipts'),
      ('receipt_history', 'version', 'The number of the callback, from 1; the highest is the current one'),
      ('receipt_callbacks', 'version', 'A text that sorts bytewise (collate "C") in the order of the callbacks'),
      (null, 'appointments', 'Rescheduled ones included: the sum of booked, ongoing, completed, cancelled, no_show, aborted, rescheduled and other'),
      (null, 'cancelled', 'By patient, doctor or staff, or because the payment failed'),
      (null, 'aborted', 'Begun and not completed by midnight'),
      (null, 'rescheduled', 'Replaced by another appointment, which is counted on the day on which that was booked; the shares of others leave them out'),
      (null, '(completed|cancelled|no_show)_share', 'Of the appointments that were not rescheduled, from 0 to 1; null: all were'),
      (null, 'rescheduled_share', 'Of all appointments, from 0 to 1'),
      (null, 'without_prescription_share', 'Of the completed ones, from 0 to 1; null: none is completed'),
      (null, 'completion_(average|median)_hours', 'From booking to completion; null: none is completed'),
      ('admission.*|open_admissions', 'patient_id', 'The patient of the admission; null: the admission is not known'),
      (null, 'has_ended', 'Judged by stage and status, see the function admission_has_ended'),
      (null, 'is_open|open_clearances', 'Still to be given, see the function clearance_is_open'),
      ('admissions', 'admitted_at', 'admission_date; if the platform does not send that, when it was created, or the time of its last event'),
      ('consent_forms', 'type', 'mcert (a medical certificate) or consent; null before the platform sent it'),
      ('deliveries', 'status', 'received: not merged into its row yet; applied: merged; failed: PostgreSQL refused its data, see error'),
      ('deliveries', 'source', 'callback: the platform sent it; reconcile: the receiver read it from the platform, because it was missing or differed'),
      (null, 'reconciled', 'Deliveries that the reconciliation has made; not included in received'),
      (null, 'quarantined', 'Rejected callbacks that have not been replayed; not included in received'),
      ('schema_drift', 'field', 'As a JSON pointer into the callback; /event: no family lists the event'),
      ('schema_drift', 'kind', 'unknown: not documented; missing: documented but absent; value: a new short text; misfit: it does not fit its column, and is in extra'),
      ('other_events', 'data', 'Without the content of health records'),
      (null, 'expected_callbacks', 'Expected since the last callback: the average of the same period of the week in the four weeks before; null: less than a week of callbacks'),
      (null, 'out_of_the_ordinary', 'At least five callbacks were expected; null: less than a week of callbacks'),
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
