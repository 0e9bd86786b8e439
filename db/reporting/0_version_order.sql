-- Made from src/families/version-order.ts by "npm run docs".
create or replace function version_key_of(
  event text, event_time timestamptz, changed_at timestamptz, carried jsonb, delivery_id uuid
) returns text
  language sql immutable parallel safe
  return version_key(event_time, case event when 'receipt.deleted' then coalesce(case when carried->'lacks' ?| array['updated_at', 'modified_at'] then null else changed_at end, 'infinity') when 'appointment.reconciled' then '-infinity' else coalesce(case when carried->'lacks' ?| array['updated_at', 'modified_at'] then null else changed_at end, '-infinity') end, case event when 'receipt.created' then 1 when 'receipt.deleted' then 3 when 'appointment.reconciled' then 0 when 'appointment.created' then 1 else 2 end, case event when 'receipt.created' then 1 when 'receipt.updated' then 2 when 'receipt.deleted' then 3 when 'appointment.created' then 1 when 'appointment.updated' then 2 when 'appointment.statuschange' then 3 when 'appointment.assessments.taken' then 4 else 0 end, delivery_id);
comment on function version_key_of is 'The place of a version of a receipt or an appointment among those of its record, as a text that sorts like it';
