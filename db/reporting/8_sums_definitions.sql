-- Sums that were kept by another definition are made again. What depends on the time zone: reporting.write_zone.
with current as (
  select sums, md5(string_agg(definition, ', ' order by definition)) as definition
  from (values
    ('activities',   pg_get_viewdef('live_activities'::regclass)),
    ('activities',   pg_get_viewdef('live_activity_days'::regclass)),
    ('activities',   pg_get_viewdef('live_doctor_months'::regclass)),
    ('activities',   pg_get_viewdef('live_activity_months'::regclass)),
    ('appointments', pg_get_viewdef('live_appointments'::regclass)),
    ('appointments', pg_get_viewdef('live_appointment_days'::regclass)),
    ('appointments', pg_get_viewdef('live_appointment_months'::regclass)),
    ('deliveries',   pg_get_viewdef('live_deliveries'::regclass)),
    ('deliveries',   pg_get_viewdef('live_delivery_months'::regclass)),
    ('appointments', pg_get_viewdef('reporting.appointments'::regclass)),
    ('appointments', pg_get_functiondef('reporting.appointment_state'::regproc)),
    ('appointments', pg_get_functiondef('version_key_of'::regproc))
  ) as parts (sums, definition)
  group by sums
), changed as (
  insert into sums_definitions as former (sums, definition) select sums, definition from current
  on conflict (sums) do update set definition = excluded.definition where former.definition <> excluded.definition
  returning sums
)
select outdate_all(sums) from changed;
