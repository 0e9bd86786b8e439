-- Each row of inbox has one state: pending, applied or failed. Where it lost that, it becomes pending again.

alter table pending_deliveries add column applied_at timestamptz;
comment on column pending_deliveries.applied_at is 'When it was first applied, if it lost its state since; null: it is new, or that is not known';

create table state_checks (
  name              text        primary key,
  after_id          uuid,
  after_received_at timestamptz,
  completed_at      timestamptz,
  saw_damage        boolean     not null default false,
  requeued          bigint      not null default 0,
  requeued_since    timestamptz,
  requeued_at       timestamptz
);
comment on table  state_checks                   is 'The comparisons of inbox with the tables of states: how far each is, and what it has found';
comment on column state_checks.name              is 'recent: events of the last days; late: what arrived in the last days long after its event; all: every delivery; command: receiver replay';
comment on column state_checks.after_id          is 'Where the next step begins; null: no pass is under way';
comment on column state_checks.after_received_at is 'The same, of a pass in the order of arrival';
comment on column state_checks.completed_at      is 'When a pass was last completed';
comment on column state_checks.saw_damage        is 'Whether the last pass passed over a damaged page: the next one is soon';
comment on column state_checks.requeued          is 'Deliveries without a state that were made pending since requeued_since';
comment on column state_checks.requeued_since    is 'The first find, unless a day without one has passed since';
comment on column state_checks.requeued_at       is 'The last find';

create function has_valid_key(family text, envelope jsonb) returns boolean
  language plpgsql stable set search_path from current
as $$
begin
  perform thing_of(family, envelope);
  return true;
exception when data_exception then
  return false;
end
$$;
comment on function has_valid_key is 'Whether the id of the thing that a delivery is about can be read: others cannot have been applied';

-- What is derived from a delivery is deleted with it. One that is not in applied_deliveries may have been applied before it
-- lost its state.
create or replace function forget_deliveries() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate pending_deliveries, failed_deliveries, applied_deliveries, resends, receipt_versions, appointment_versions, body_words;
    return null;
  end if;
  with applied as materialized (
    select d.id, d.family, d.business_id, d.envelope from deleted d
    where d.family in ('receipt', 'appointment') and (
      exists (select from applied_deliveries a where a.id = d.id) or has_valid_key(d.family, d.envelope)
    )
  ), receipts as (
    delete from receipt_versions v
    using applied d
    where d.family = 'receipt' and v.receipt_id = reporting.receipt_id(d.envelope)
      and v.business_id = d.business_id and v.delivery_id = d.id
  )
  delete from appointment_versions v
  using applied d
  where d.family = 'appointment' and v.appointment_id = thing_of(d.family, d.envelope)
    and v.business_id = d.business_id and v.delivery_id = d.id;
  delete from pending_deliveries p using deleted d where p.id = d.id;
  delete from failed_deliveries f using deleted d where f.id = d.id;
  delete from applied_deliveries a using deleted d where a.id = d.id;
  delete from resends r using deleted d where r.id = d.id;
  delete from body_words w using deleted d where w.id = d.id and d.family = 'other';
  return null;
end
$$;
