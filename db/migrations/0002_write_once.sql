-- A delivery is written once. Its status is the table of narrow rows that it is in, so that applying it copies
-- neither its envelope nor the index entries. `deliveries` becomes a view with the same columns (db/reporting).

alter table deliveries rename to inbox;
alter index deliveries_pkey rename to inbox_pkey;
-- Whoever could read the table can read the view.
insert into saved_grants (view, column_name, privileges)
select 'deliveries', null, relacl from pg_class where oid = 'inbox'::regclass and relacl is not null
union all
select 'deliveries', attname, attacl from pg_attribute where attrelid = 'inbox'::regclass and attacl is not null;
comment on table  inbox          is 'Every acknowledged callback, written once; read it through the view deliveries';
comment on column inbox.envelope is 'The callback as received';

--------------------------------------------------------------------------- The status: in which table a delivery is

create table pending_deliveries (
  id          uuid        primary key,
  family      text        not null,
  received_at timestamptz not null
);
comment on table pending_deliveries is 'Deliveries that are to be applied. Applying one deletes its row, which is also the lock';

create index pending_deliveries_by_age on pending_deliveries (received_at);
-- Every row is deleted within seconds: without frequent vacuuming, looking for the oldest reads what is deleted.
alter table pending_deliveries set (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0
);

insert into pending_deliveries
select id, family, received_at from inbox where status = 'received' order by received_at;

create table failed_deliveries (
  id          uuid        primary key,
  family      text        not null,
  received_at timestamptz not null,
  error       text        not null,
  applied_at  timestamptz
);
comment on table  failed_deliveries            is 'Deliveries whose data caused an error; a replay tries again';
comment on column failed_deliveries.applied_at is 'When it was first applied, if a replay failed afterwards';

insert into failed_deliveries
select id, family, received_at, coalesce(error, ''), applied_at
from inbox where status = 'failed' order by received_at;

create table applied_deliveries (
  id          uuid        primary key,
  family      text        not null,
  business_id text        not null,
  event_time  timestamptz not null,
  received_at timestamptz not null,
  applied_at  timestamptz not null
);
comment on table  applied_deliveries            is 'Deliveries that are applied to their tables';
comment on column applied_deliveries.applied_at is 'When it was first applied';

insert into applied_deliveries
select id, family, business_id, event_time, received_at, coalesce(applied_at, received_at)
from inbox where status = 'applied' order by received_at;

-- It contains every column that delivery_health and silence read, so that these need no access to the table for vacuumed
-- pages; the setting makes autovacuum run often enough.
create index applied_deliveries_of_business on applied_deliveries (business_id, reporting.day(received_at), family)
  include (received_at, event_time, applied_at, id);
alter table applied_deliveries set (autovacuum_vacuum_insert_scale_factor = 0.01);

-- Rows are stored nearly in the order of arrival: a few bytes per 128 pages suffice to find a day.
-- A single range of values, because several (multi) slow down inserts.
create index applied_deliveries_times on applied_deliveries using brin (reporting.day(received_at), applied_at);

create table resends (
  id               uuid        primary key,
  count            integer     not null,
  last_received_at timestamptz not null
);
comment on table  resends       is 'Deliveries that were received more than once';
comment on column resends.count is 'How often, without the first time';

insert into resends select id, delivery_count - 1, last_received_at from inbox where delivery_count > 1;

-- Drops the indexes that contain them, too.
alter table inbox
  drop column status, drop column error, drop column delivery_count, drop column last_received_at,
  drop column applied_at;
drop index if exists deliveries_times;

create function delete_delivery() returns trigger language plpgsql as $$
begin
  delete from public.inbox where id = old.id;
  return old;
end
$$;
comment on function delete_delivery is 'Makes `delete from deliveries` delete from the tables behind it';

------------------------------------------------------------------------------------------------- Versions of receipts

-- The newest version is in receipts alone: it is copied only when a newer one replaces it.
alter table receipts add column received_at timestamptz, add column applied_at timestamptz;
update receipts r set received_at = v.received_at, applied_at = v.applied_at
from receipt_versions v
where v.receipt_id = r.receipt_id and v.business_id = r.business_id and v.delivery_id = r.delivery_id;
-- Of deleted deliveries.
update receipts set received_at = event_time, applied_at = event_time where applied_at is null;
alter table receipts alter column received_at set not null, alter column applied_at set not null;
delete from receipt_versions v using receipts r
where v.receipt_id = r.receipt_id and v.business_id = r.business_id and v.delivery_id = r.delivery_id;

comment on table  receipts                     is 'The newest version of each receipt; a deleted one keeps its row, with deleted_at';
comment on column receipts.received_at         is 'When the delivery of this version was first received';
comment on column receipts.applied_at          is 'When it was first applied';
comment on table  receipt_versions             is 'Superseded versions of receipts; read all versions through reporting.receipt_history';

-- applied_at is for receipts_as_of: PostgreSQL 18 can use it with a skip scan over the days.
create index receipts_received on receipts (business_id, reporting.day(received_at), applied_at);
drop index receipt_versions_day, receipt_versions_applied;
create index receipt_versions_day on receipt_versions (business_id, reporting.day(received_at));

-- A trigger, because only it sees the row that an upsert has replaced, also where another worker inserted it a moment
-- before. Both tables have the same columns in the same order.
create function keep_superseded_receipt() returns trigger language plpgsql as $$
begin
  insert into public.receipt_versions select old.* on conflict do nothing;
  return null;
end
$$;
create trigger keep_superseded_receipt after update on receipts
  for each row when (old.delivery_id <> new.delivery_id) execute function keep_superseded_receipt();

-- What is derived from a delivery is deleted with it.
create or replace function forget_versions() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate public.pending_deliveries, public.failed_deliveries, public.applied_deliveries, public.resends,
             public.receipt_versions;
    return null;
  end if;
  -- Only of those that were applied: another may have no valid receipt id.
  with applied as materialized (
    select d.* from deleted d
    where family = 'receipt' and (
      exists (select from public.applied_deliveries a where a.id = d.id)
      or exists (select from public.failed_deliveries f where f.id = d.id and f.applied_at is not null)
    )
  )
  delete from public.receipt_versions v
  using applied d
  where v.receipt_id = reporting.receipt_id(d.envelope) and v.business_id = d.business_id and v.delivery_id = d.id;
  delete from public.pending_deliveries p using deleted d where p.id = d.id;
  delete from public.failed_deliveries f using deleted d where f.id = d.id;
  delete from public.applied_deliveries a using deleted d where a.id = d.id;
  delete from public.resends r using deleted d where r.id = d.id;
  return null;
end
$$;
alter function forget_versions rename to forget_deliveries;
alter trigger forget_versions on inbox rename to forget_deliveries;
alter trigger forget_all_versions on inbox rename to forget_all_deliveries;
