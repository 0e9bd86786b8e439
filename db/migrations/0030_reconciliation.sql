-- Reconciliation: the comparison of appointments with those that the platform lists.

create table reconciliations (
  id           uuid        primary key default gen_random_uuid(),
  business_id  text        not null,
  from_day     date        not null,
  to_day       date        not null,
  started_at   timestamptz not null default clock_timestamp(),
  attempted_at timestamptz not null default clock_timestamp(),
  ended_at     timestamptz
);
comment on table  reconciliations              is 'Passes of the reconciliation. One that was interrupted is continued, within a day';
comment on column reconciliations.attempted_at is 'When it was begun or continued for the last time';
comment on column reconciliations.ended_at     is 'When all of its days were compared; null: it runs, or was interrupted';

create table reconciliation_pages (
  reconciliation_id uuid        not null references reconciliations on delete cascade,
  from_day          date        not null,
  round             integer     not null,
  page              integer     not null,
  is_last           boolean     not null,
  has_late          boolean     not null,
  appointment_ids   text[]      not null,
  asked_at          timestamptz not null,
  primary key (reconciliation_id, from_day, round, page)
);
comment on table  reconciliation_pages                 is 'The pages that a running pass has read and compared: a stop continues behind them. Deleted at the end of the pass';
comment on column reconciliation_pages.from_day        is 'The first day of the window';
comment on column reconciliation_pages.round           is 'From 1: a window is read again, because pages shift while they are read; 0: appointments that were asked for one by one';
comment on column reconciliation_pages.has_late        is 'Whether it has an appointment that the rounds before should have had';
comment on column reconciliation_pages.appointment_ids is 'The appointments of the page';
comment on column reconciliation_pages.asked_at        is 'When the platform was asked, by its own clock';

create table reconciled_days (
  business_id    text        not null,
  family         text        not null,
  day            date        not null,
  complete_as_of timestamptz not null,
  primary key (business_id, day, family)
);
comment on table  reconciled_days                is 'Days whose records were compared with the platform';
comment on column reconciled_days.day            is 'The day for which the platform lists the records: of an appointment, the day on which it takes place';
comment on column reconciled_days.complete_as_of is 'When the platform was asked, by its own clock';

create table reconciled_deliveries (
  id            uuid        primary key,
  business_id   text        not null,
  family        text        not null,
  day           date        not null,
  compared_with uuid,
  found_at      timestamptz not null default clock_timestamp()
);
create index reconciled_deliveries_day on reconciled_deliveries (business_id, day);
create index reconciled_deliveries_found on reconciled_deliveries (found_at);
comment on table  reconciled_deliveries               is 'Deliveries that the reconciliation has made, of records that were missing or differed';
comment on column reconciled_deliveries.day           is 'The day that was compared, see reconciled_days';
comment on column reconciled_deliveries.compared_with is 'The delivery of the row that differed; null: the record was missing';

create table unknown_records (
  delivery_id uuid        primary key,
  business_id text        not null,
  family      text        not null,
  day         date        not null,
  found_at    timestamptz not null default clock_timestamp()
);
create index unknown_records_day on unknown_records (business_id, day);
comment on table  unknown_records             is 'Records that callbacks have told of, and that the platform does not know';
comment on column unknown_records.delivery_id is 'The delivery of the row';
comment on column unknown_records.day         is 'The day on which it was booked';

create function forget_reconciled() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate reconciled_deliveries, unknown_records;
    return null;
  end if;
  delete from reconciled_deliveries r using deleted d where r.id = d.id;
  delete from unknown_records u using deleted d where u.delivery_id = d.id;
  return null;
end
$$;
create trigger forget_reconciled after delete on inbox
  referencing old table as deleted for each statement execute function forget_reconciled();
create trigger forget_reconciled_truncated after truncate on inbox
  for each statement execute function forget_reconciled();

alter table kept_deliveries add column reconciled bigint not null default 0;
alter table kept_delivery_months add column reconciled bigint not null default 0;
comment on column kept_deliveries.reconciled is 'Those that the reconciliation has made; deliveries does not count them';
