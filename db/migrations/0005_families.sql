-- The tables of every event that the platform sends beyond receipts, consent forms and review requests.

--------------------------------------------------------------------------------------------------------- Functions

-- Of jsonb, whose numbers need no parsing.
create function callback_time(value jsonb) returns timestamptz
  language sql stable parallel safe
  return case jsonb_typeof(value)
    when 'number' then service_time(value::numeric)
    when 'string' then (value #>> '{}')::timestamptz
  end;
comment on function callback_time is 'A time of a callback as timestamptz: seconds, milliseconds above 1e11, or ISO 8601 with an offset';

create function person_name(value jsonb) returns text
  language sql stable parallel safe
  return case jsonb_typeof(value)
    when 'object' then nullif(concat_ws(' ', nullif(value->>'salutation', ''), nullif(value->>'first_name', ''),
                                        nullif(value->>'last_name', '')), '')
    else value #>> '{}'
  end;
comment on function person_name is 'A name that is a text, or an object with salutation, first_name and last_name';

-- Its result is part of an index, so that its length is limited.
create function admission_of(transaction_id text) returns text
  language sql immutable parallel safe
  return substring(transaction_id from '/admissions/([^/]{1,200})(?:/|$)');
comment on function admission_of is 'The admission in a transaction_id such as ipd/<business>/admissions/<admission>/clearances/<type>; null: it names none';

-- Ids of receipts may be in quotes.
create or replace function reporting.receipt_id(envelope jsonb) returns bigint
  language sql immutable strict parallel safe
  return (envelope #>> '{data,receipt_id}')::numeric::bigint;

-- An index uses the next two. A migration that adds a family may replace thing_of, because there is no delivery of that
-- family yet; after a change of patient_of, its index is rebuilt.
create or replace function patient_of(envelope jsonb) returns text
  language sql immutable parallel safe
  return coalesce(nullif(envelope #>> '{data,patient_oid}', ''), nullif(envelope #>> '{data,patientid}', ''),
                  nullif(envelope #>> '{data,patient_id}', ''), nullif(envelope #>> '{data,pid}', ''));
comment on function patient_of is 'The patient that a callback names, in any spelling; null: nobody';

create function thing_of(family text, envelope jsonb) returns text
  language sql immutable parallel safe
  return case
    when family = 'receipt' then (envelope #>> '{data,receipt_id}')::numeric::bigint::text
    when family in ('consent_form', 'admission') then envelope #>> '{data,id}'
    when family = 'appointment' then envelope #>> '{data,appointment_id}'
    when family = 'prescription' then coalesce(envelope #>> '{data,prescription_id}', envelope #>> '{data,rx_id}')
    when family in ('admission_event', 'admission_clearance', 'admission_estimate')
      then admission_of(envelope->>'transaction_id')
  end;
comment on function thing_of is 'The id of the thing that a delivery is about: a receipt, an appointment, …; of a part of an admission, the admission';

create function thing_family(family text) returns text
  language sql immutable parallel safe
  return case
    when family in ('admission_event', 'admission_clearance', 'admission_estimate') then 'admission' else family
  end;
comment on function thing_family is 'The family of the thing that a delivery is about, see thing_of';

-- A function that is not inlined: the statements that store something call it once something was erased, and only then pay
-- for it. Strict, so that it does nothing without rows.
create function refused_deliveries(ids uuid[], families text[], envelopes jsonb[]) returns setof uuid
  language plpgsql stable strict parallel safe rows 1
as $$
begin
  return query
  select d.id
  from unnest(ids, families, envelopes) as d (id, family, envelope)
  cross join (select salt from erasure_salt limit 1) salts
  cross join lateral (
    select erasure_hashes(salt, thing_family(d.family), coalesce(d.envelope->>'business_id', ''),
                          thing_of(d.family, d.envelope), patient_of(d.envelope)) as hashes offset 0
  ) about
  where exists (
    select from erased e
    where e.hash = any(about.hashes) and e.until >= coalesce(callback_time(d.envelope->'event_time'), '-infinity')
  );
end
$$;
comment on function refused_deliveries is 'Those of some deliveries that are about an erased patient, or about a thing of one';

----------------------------------------------------------------------------------------------------------- Families

alter table consent_forms add column type text;
comment on column consent_forms.type is 'mcert or consent; null before the service sent it';

create table appointments (
  business_id            text        not null,
  appointment_id         text        not null,
  partner_appointment_id text,
  doctor_id              text,
  partner_doctor_id      text,
  patient_id             text,
  partner_patient_id     text,
  clinic_id              text,
  partner_clinic_id      text,
  status                 text,
  action                 text,
  created_at             timestamptz,
  modified_at            timestamptz,
  custom_attributes      jsonb,
  partner_meta           jsonb,
  sa_ids                 jsonb,
  workflow_data          jsonb,
  client_id              text        not null,
  last_event             text        not null,
  event_time             timestamptz not null,
  deleted_at             timestamptz,
  extra                  jsonb       not null,
  delivery_id            uuid        not null,
  received_at            timestamptz not null,
  applied_at             timestamptz not null,
  primary key (business_id, appointment_id)
);
comment on table  appointments               is 'The newest version of each appointment';
comment on column appointments.status        is 'BK booked, OG ongoing, CM completed with a prescription, CMNP completed without, CN, CND and CNS cancelled by the patient, the doctor and staff; others may come';
comment on column appointments.created_at    is 'When it was booked';
comment on column appointments.sa_ids        is 'Ids of assessments';
comment on column appointments.workflow_data is 'The result of each assessment, by its id';
comment on column appointments.extra         is 'Fields that are not documented';
comment on column appointments.delivery_id   is 'The delivery that this row was written from';
comment on column appointments.received_at   is 'When the delivery of this version was first received';
comment on column appointments.applied_at    is 'When it was first applied';
create index appointments_day on appointments (business_id, reporting.day(coalesce(created_at, event_time)));
create index appointments_received on appointments (business_id, reporting.day(received_at), applied_at);

create table appointment_versions (
  like appointments including comments,
  primary key (appointment_id, business_id, delivery_id)
);
comment on table appointment_versions is 'Superseded versions of appointments; read all versions through reporting.appointment_history';
create index appointment_versions_day on appointment_versions (business_id, reporting.day(received_at));

create function keep_superseded_appointment() returns trigger language plpgsql as $$
begin
  insert into public.appointment_versions select old.* on conflict do nothing;
  return null;
end
$$;
create trigger keep_superseded_appointment after update on appointments
  for each row when (old.delivery_id <> new.delivery_id) execute function keep_superseded_appointment();

create table prescriptions (
  business_id            text        not null,
  prescription_id        text        not null,
  doctor_id              text,
  partner_doctor_id      text,
  patient_id             text,
  partner_patient_id     text,
  clinic_id              text,
  partner_clinic_id      text,
  partner_appointment_id text,
  current_version        text,
  previous_version       text,
  prescription_url       text,
  prescription_url_print text,
  action                 text,
  created_at             timestamptz,
  modified_at            timestamptz,
  partner_meta           jsonb,
  client_id              text        not null,
  last_event             text        not null,
  event_time             timestamptz not null,
  deleted_at             timestamptz,
  extra                  jsonb       not null,
  delivery_id            uuid        not null,
  primary key (business_id, prescription_id)
);
comment on table  prescriptions                 is 'The newest version of each prescription';
comment on column prescriptions.prescription_id is 'The prescription; some callbacks call it rx_id';
comment on column prescriptions.extra           is 'Fields that are not documented';
comment on column prescriptions.delivery_id     is 'The delivery that this row was written from';
create index prescriptions_day on prescriptions using brin (reporting.day(event_time) date_minmax_multi_ops);

create table payment_requests (
  business_id    text        not null,
  appointment_id text,
  doctor_id      text,
  patient_id     text,
  net_amount     numeric,
  url            text,
  client_id      text        not null,
  last_event     text        not null,
  event_time     timestamptz not null,
  deleted_at     timestamptz,
  extra          jsonb       not null,
  delivery_id    uuid        primary key
);
comment on table  payment_requests             is 'Each request to a patient to pay';
comment on column payment_requests.url         is 'The page for paying';
comment on column payment_requests.extra       is 'Fields that are not documented';
comment on column payment_requests.delivery_id is 'The delivery that this row was written from';
create index payment_requests_day on payment_requests using brin (reporting.day(event_time) date_minmax_multi_ops);

create table practice_changes (
  business_id       text        not null,
  doctor_id         text,
  partner_doctor_id text,
  clinic_id         text,
  partner_clinic_id text,
  created_at        timestamptz,
  modified_at       timestamptz,
  partner_meta      jsonb,
  client_id         text        not null,
  last_event        text        not null,
  event_time        timestamptz not null,
  deleted_at        timestamptz,
  extra             jsonb       not null,
  delivery_id       uuid        primary key
);
comment on table  practice_changes             is 'Each change of when a doctor practises';
comment on column practice_changes.extra       is 'Fields that are not documented';
comment on column practice_changes.delivery_id is 'The delivery that this row was written from';
create index practice_changes_day on practice_changes using brin (reporting.day(event_time) date_minmax_multi_ops);

create table admissions (
  business_id       text        not null,
  id                text        not null,
  ipid              text,
  pid               text,
  bid               text,
  docid             text,
  facilityid        text,
  stage             text,
  status            text,
  admission_date    timestamptz,
  totalbilled       numeric,
  totalpaid         numeric,
  category          jsonb,
  department        jsonb,
  bed               jsonb,
  doc               jsonb,
  facility          jsonb,
  patient           jsonb,
  attendee          jsonb,
  insurance         jsonb,
  medico_legal_case jsonb,
  procedures        jsonb,
  rateplan          jsonb,
  refer             jsonb,
  duration          jsonb,
  created_at        timestamptz,
  updated_at        timestamptz,
  client_id         text        not null,
  last_event        text        not null,
  event_time        timestamptz not null,
  deleted_at        timestamptz,
  extra             jsonb       not null,
  delivery_id       uuid        not null,
  primary key (business_id, id)
);
comment on table  admissions             is 'The newest version of each admission to a hospital (IPD)';
comment on column admissions.id          is 'The admission';
comment on column admissions.pid         is 'The patient';
comment on column admissions.bid         is 'The business';
comment on column admissions.docid       is 'The doctor';
comment on column admissions.extra       is 'Fields that are not documented';
comment on column admissions.delivery_id is 'The delivery that this row was written from';
create index admissions_day on admissions (business_id, reporting.day(coalesce(admission_date, created_at, event_time)));

create table admission_events (
  business_id    text        not null,
  id             text        not null,
  admission_id   text,
  kind           text,
  at             timestamptz,
  by             jsonb,
  clearance_type text,
  "to"           text,
  client_id      text        not null,
  last_event     text        not null,
  event_time     timestamptz not null,
  deleted_at     timestamptz,
  extra          jsonb       not null,
  delivery_id    uuid        not null,
  primary key (business_id, id)
);
comment on table  admission_events              is 'The newest version of each event of an admission';
comment on column admission_events.id           is 'The event';
comment on column admission_events.admission_id is 'The admission, as the callback''s transaction_id names it';
comment on column admission_events.extra        is 'Fields that are not documented';
comment on column admission_events.delivery_id  is 'The delivery that this row was written from';
create index admission_events_of_admission on admission_events (business_id, admission_id);
create index admission_events_day on admission_events using brin (reporting.day(event_time) date_minmax_multi_ops);

create table admission_clearances (
  business_id    text        not null,
  transaction_id text        not null,
  admission_id   text,
  type           text,
  status         text,
  completed_at   timestamptz,
  completed_by   jsonb,
  updated_at     timestamptz,
  client_id      text        not null,
  last_event     text        not null,
  event_time     timestamptz not null,
  deleted_at     timestamptz,
  extra          jsonb       not null,
  delivery_id    uuid        not null,
  primary key (business_id, transaction_id)
);
comment on table  admission_clearances                is 'The newest version of each clearance of an admission';
comment on column admission_clearances.transaction_id is 'The clearance: it has no other id';
comment on column admission_clearances.admission_id   is 'The admission, as the transaction_id names it';
comment on column admission_clearances.extra          is 'Fields that are not documented';
comment on column admission_clearances.delivery_id    is 'The delivery that this row was written from';
create index admission_clearances_of_admission on admission_clearances (business_id, admission_id);
create index admission_clearances_day on admission_clearances using brin (reporting.day(event_time) date_minmax_multi_ops);

create table admission_estimates (
  business_id  text        not null,
  id           text        not null,
  admission_id text,
  name         text,
  service_id   text,
  quantity     numeric,
  rate         numeric,
  discount     jsonb,
  remarks      text,
  date         timestamptz,
  added_by     jsonb,
  created_at   timestamptz,
  updated_at   timestamptz,
  client_id    text        not null,
  last_event   text        not null,
  event_time   timestamptz not null,
  deleted_at   timestamptz,
  extra        jsonb       not null,
  delivery_id  uuid        not null,
  primary key (business_id, id)
);
comment on table  admission_estimates              is 'The newest version of each estimate of an admission';
comment on column admission_estimates.id           is 'The estimate';
comment on column admission_estimates.admission_id is 'The admission, as the callback''s transaction_id names it';
comment on column admission_estimates.extra        is 'Fields that are not documented';
comment on column admission_estimates.delivery_id  is 'The delivery that this row was written from';
create index admission_estimates_of_admission on admission_estimates (business_id, admission_id);
create index admission_estimates_day on admission_estimates using brin (reporting.day(event_time) date_minmax_multi_ops);

create table notices (
  business_id      text        not null,
  appointment_id   text,
  doctor_id        text,
  patient_id       text,
  clinic_id        text,
  prescription_id  text,
  prescription_url text,
  doc_name         text,
  doctor_name      text,
  patient_name     text,
  actor_oid        text,
  booking_link     text,
  due_date         text,
  vaccines         text,
  video_connect    jsonb,
  client_id        text        not null,
  last_event       text        not null,
  event_time       timestamptz not null,
  deleted_at       timestamptz,
  extra            jsonb       not null,
  delivery_id      uuid        primary key
);
comment on table  notices             is 'Each message to a patient, and each time a doctor joined a consultation: reminders, prescriptions that were sent';
comment on column notices.due_date    is 'The day of a vaccination, such as 2026-11-30';
comment on column notices.extra       is 'Fields that are not documented';
comment on column notices.delivery_id is 'The delivery that this row was written from';
create index notices_day on notices using brin (reporting.day(event_time) date_minmax_multi_ops);

create table other_events (
  business_id text        not null,
  client_id   text        not null,
  last_event  text        not null,
  event_time  timestamptz not null,
  deleted_at  timestamptz,
  extra       jsonb       not null,
  delivery_id uuid        primary key
);
comment on table  other_events             is 'Each event that no family lists yet';
comment on column other_events.extra       is 'The data of the callback';
comment on column other_events.delivery_id is 'The delivery that this row was written from';
create index other_events_day on other_events using brin (reporting.day(event_time) date_minmax_multi_ops);

create function patient_about(family text, business text, envelope jsonb) returns text
  language sql stable parallel safe
  return coalesce(patient_of(envelope), (
    select pid from admissions a
    where thing_family(family) = 'admission' and a.business_id = business and a.id = thing_of(family, envelope)
  ));
comment on function patient_about is 'The patient that a callback names or, where it is about a part of an admission, the admission';

-- What is derived from a delivery is deleted with it.
create or replace function forget_deliveries() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate public.pending_deliveries, public.failed_deliveries, public.applied_deliveries, public.resends,
             public.receipt_versions, public.appointment_versions;
    return null;
  end if;
  -- Only of those that were applied: another may have no valid id.
  with applied as materialized (
    select d.* from deleted d
    where family in ('receipt', 'appointment') and (
      exists (select from public.applied_deliveries a where a.id = d.id)
      or exists (select from public.failed_deliveries f where f.id = d.id and f.applied_at is not null)
    )
  ), receipts as (
    delete from public.receipt_versions v
    using applied d
    where d.family = 'receipt' and v.receipt_id = reporting.receipt_id(d.envelope)
      and v.business_id = d.business_id and v.delivery_id = d.id
  )
  delete from public.appointment_versions v
  using applied d
  where d.family = 'appointment' and v.appointment_id = public.thing_of(d.family, d.envelope)
    and v.business_id = d.business_id and v.delivery_id = d.id;
  delete from public.pending_deliveries p using deleted d where p.id = d.id;
  delete from public.failed_deliveries f using deleted d where f.id = d.id;
  delete from public.applied_deliveries a using deleted d where a.id = d.id;
  delete from public.resends r using deleted d where r.id = d.id;
  return null;
end
$$;

------------------------------------------------------------------------------------------------------- Schema drift

-- An event that no family lists is a row of its own, with the field /event. The number of such events is limited like
-- that of the unknown fields of one event; the others are counted together, as event "…".
create or replace function record_schema_drift(notes jsonb) returns void
  language plpgsql
as $$
begin
  -- One call at a time, so that no row is added while they are counted.
  perform pg_advisory_xact_lock(hashtext('record_schema_drift'));
  with note as (
    select n.*, s.event is null and n.kind in ('unknown', 'value') as is_new,
           case when n.field = '/event' then '' else n.event end as counted_with
    from jsonb_to_recordset(notes) as n(event text, field text, kind text, value text, count bigint,
      first_seen timestamptz, last_seen timestamptz, example_delivery uuid)
    left join schema_drift s using (event, field, kind, value)
  ), existing as (
    select case when field = '/event' then '' else event end as counted_with, count(*) as rows
    from schema_drift where kind in ('unknown', 'value') group by 1
  ), placed as (
    select note.*, is_new and coalesce(existing.rows, 0) + row_number() over (
        partition by counted_with, is_new order by first_seen, event, field, kind, value) > 100 as is_too_many
    from note
    left join existing using (counted_with)
  )
  insert into schema_drift (event, field, kind, value, count, first_seen, last_seen, example_delivery)
  select
    case when is_too_many and field = '/event' then '…' else event end,
    case when is_too_many then '' else field end, case when is_too_many then 'other' else kind end,
    case when is_too_many then '' else value end, sum(count), min(first_seen), max(last_seen),
    (array_agg(example_delivery order by last_seen desc))[1]
  from placed
  group by 1, 2, 3, 4
  on conflict (event, field, kind, value) do update set
    count = schema_drift.count + excluded.count,
    first_seen = least(schema_drift.first_seen, excluded.first_seen),
    last_seen = greatest(schema_drift.last_seen, excluded.last_seen),
    example_delivery = excluded.example_delivery;
end
$$;
