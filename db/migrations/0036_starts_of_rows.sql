-- no transaction
-- The starts of appointments that arrived before.
insert into appointment_starts (business_id, appointment_id, starts_at, event_time, changed_at, event_rank, delivery_id)
select n.business_id, n.appointment_id, n.starts_at, n.event_time, n.changed_at, n.event_rank, n.delivery_id
from (
  select business_id, appointment_id from appointments where states_start(extra)
  union
  select business_id, appointment_id from appointment_versions where states_start(extra)
) stating, newest_start(stating.business_id, stating.appointment_id) n
on conflict do nothing;
analyze appointment_starts;
