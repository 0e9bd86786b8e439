-- Health accounts, care contexts and bookings; rejected bodies without secrets.

-- Of quarantine first: receivers lock it.
alter table quarantine add column delivery_id uuid;
comment on column quarantine.delivery_id is 'The id of its delivery, made of the body as received; null: the stored body itself tells it, or nothing does';

create or replace function thing_of(family text, envelope jsonb) returns text
  language sql immutable parallel safe
  return case
    when family = 'receipt' then (envelope #>> '{data,receipt_id}')::numeric::bigint::text
    when family in ('consent_form', 'admission') then envelope #>> '{data,id}'
    when family = 'appointment' then envelope #>> '{data,appointment_id}'
    when family = 'prescription' then coalesce(envelope #>> '{data,prescription_id}', envelope #>> '{data,rx_id}')
    when family in ('admission_event', 'admission_clearance', 'admission_estimate')
      then admission_of(envelope->>'transaction_id')
    when family = 'health_account' then envelope #>> '{data,abha_address}'
    when family = 'care_context' then envelope #>> '{data,care_context_id}'
    when family = 'booking' then envelope #>> '{data,order_id}'
  end;

create table health_accounts (
  business_id        text        not null,
  abha_address       text        not null,
  abha_number        text,
  oid                text,
  partner_patient_id text,
  hip_id             text,
  hip_code           text,
  req_id             text,
  client_id          text        not null,
  last_event         text        not null,
  event_time         timestamptz not null,
  deleted_at         timestamptz,
  extra              jsonb       not null,
  delivery_id        uuid        not null,
  primary key (business_id, abha_address)
);
comment on table  health_accounts                    is 'The newest version of each health account (ABHA), with its patient';
comment on column health_accounts.oid                is 'The patient';
comment on column health_accounts.partner_patient_id is 'The patient in the partner''s system';
comment on column health_accounts.hip_id             is 'The provider of health information (HIP)';
comment on column health_accounts.hip_code           is 'The counter where the profile was shared';
comment on column health_accounts.req_id             is 'The request to share the profile';
comment on column health_accounts.extra              is 'Fields that are not documented';
comment on column health_accounts.delivery_id        is 'The delivery that this row was written from';
create index health_accounts_day on health_accounts using brin (reporting.day(event_time) date_minmax_multi_ops);

create table care_contexts (
  business_id        text        not null,
  care_context_id    text        not null,
  abha_address       text,
  oid                text,
  partner_patient_id text,
  hip_id             text,
  status             text,
  error              text,
  retry_count        text,
  client_id          text        not null,
  last_event         text        not null,
  event_time         timestamptz not null,
  deleted_at         timestamptz,
  extra              jsonb       not null,
  delivery_id        uuid        not null,
  primary key (business_id, care_context_id)
);
comment on table  care_contexts             is 'The newest version of each care context: the health records of a visit, linked to a health account';
comment on column care_contexts.oid         is 'The patient';
comment on column care_contexts.hip_id      is 'The provider of health information (HIP)';
comment on column care_contexts.status      is 'LINKED, or another status';
comment on column care_contexts.extra       is 'Fields that are not documented';
comment on column care_contexts.delivery_id is 'The delivery that this row was written from';
create index care_contexts_day on care_contexts using brin (reporting.day(event_time) date_minmax_multi_ops);

create table bookings (
  business_id text        not null,
  order_id    text        not null,
  state       text,
  slot        jsonb,
  doctor      jsonb,
  billing     jsonb,
  patient     jsonb,
  client_id   text        not null,
  last_event  text        not null,
  event_time  timestamptz not null,
  deleted_at  timestamptz,
  extra       jsonb       not null,
  delivery_id uuid        not null,
  primary key (business_id, order_id)
);
comment on table  bookings             is 'The newest version of each booking through a network for health services';
comment on column bookings.billing     is 'The person who pays: name, phone, email and address';
comment on column bookings.extra       is 'Fields that are not documented';
comment on column bookings.delivery_id is 'The delivery that this row was written from';
create index bookings_day on bookings using brin (reporting.day(event_time) date_minmax_multi_ops);

create index other_events_user_delete on other_events (event_time) where last_event = 'user.delete';
