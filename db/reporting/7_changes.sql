-- The database by its server, its name there, and the creation of its tables.
create or replace function place_of_changes() returns text
  language sql stable set search_path from current
as $$
  select concat_ws('/', system_identifier, d.oid, 'change_feed'::regclass::oid)
  from pg_control_system(), pg_database d where d.datname = current_database()
$$;

-- Gives positions to the changed records that are committed, and returns the last position. Without a row of change_feed it
-- returns nothing. One transaction at a time: the lock, which nobody can take who may only read, is taken before the statement
-- that looks, so that it sees what the previous one has numbered.
--
-- Reads what was not visible at the last step, by the index on transactions; or all there is, where that says nothing: the last
-- step was not complete, or transactions have other numbers than before, because the database was moved to another server.
-- Whoever begins to call it, asks for everything once.
--
-- A database that was restored or copied begins another epoch: no former cursor is known, and no destination gets anything until
-- somebody resumes it. After each start of a server, which may be a standby that was promoted or a server recovered to a point in
-- time, positions leave out those that may have been given and lost: of two versions the greater one is the newer, whatever
-- happens.
create or replace function number_changes(
  everything boolean, out head bigint, out head_tag uuid, out complete boolean
) language plpgsql set search_path from current set enable_seqscan to off as $$
declare
  most  constant integer := 200;
  -- A page that begins or ends within a position reads all of it.
  most_records constant integer := 100;
  last  record;
  feed  record;
  is_known boolean;
begin
  lock table change_feed in share update exclusive mode;
  select c.position, c.tag, c.seen into last from changes c order by c.position desc limit 1;
  if not found then
    return;
  end if;
  select f.place is distinct from place_of_changes() as is_elsewhere, f.place is not null as has_place,
         f.server_started_at is distinct from pg_postmaster_start_time() as is_restarted
  into feed from change_feed f;
  if feed.is_elsewhere or feed.is_restarted then
    if feed.is_elsewhere and feed.has_place then
      delete from changes;
      update destinations set cursor = null;
      update destinations set
        state = 'paused', state_since = now(), leased_by = null, leased_until = null,
        reason = 'The database was restored or copied: it begins anew with all records'
      where state = 'active';
    end if;
    insert into changes (position, kind, changed_at, families, business_ids, ids)
    values (greatest(last.position + 1, floor(extract(epoch from now()) * 1000)), 'changed', now(), '{}', '{}', '{}')
    returning position, tag into head, head_tag;
    update change_feed set place = place_of_changes(), server_started_at = pg_postmaster_start_time();
    complete := false;
    return;
  end if;
  head := last.position;
  head_tag := last.tag;
  is_known := not everything and last.seen is not null
    and pg_snapshot_xmax(last.seen) <= pg_snapshot_xmax(pg_current_snapshot());
  with due as (
    select r.transaction, r.id from changed_records r
    where r.transaction >= case when is_known then pg_snapshot_xmax(last.seen) else '0' end
    union
    select r.transaction, r.id from changed_records r where r.transaction = any(array(select pg_snapshot_xip(last.seen)))
    limit most
  ), taken as (
    delete from changed_records r using due where r.transaction = due.transaction and r.id = due.id
    returning r.kind, r.changed_at, r.families, r.business_ids, r.ids
  ), folded as (
    select t.kind, e.family, e.business_id, e.id, max(t.changed_at) as changed_at
    from taken t cross join lateral unnest(t.families, t.business_ids, t.ids) as e (family, business_id, id)
    group by t.kind, e.family, e.business_id, e.id
  ), divided as (
    select f.kind, f.family, f.business_id, f.id, f.changed_at, (row_number() over (partition by f.kind) - 1) / most_records as part
    from folded f
  ), numbered as (
    insert into changes (position, kind, changed_at, seen, families, business_ids, ids)
    select
      last.position + row_number() over (order by kind = 'changed', kind, part), kind, max(changed_at),
      case when (select count(*) from taken) < most then pg_current_snapshot() end,
      array_agg(family), array_agg(business_id), array_agg(id)
    from divided group by kind, part
    returning position, tag, seen
  )
  select n.position, n.tag, n.seen is not null as is_complete into last from numbered n order by n.position desc limit 1;
  complete := true;
  if found then
    head := last.position;
    head_tag := last.tag;
    complete := last.is_complete;
  end if;
end
$$;
comment on function place_of_changes is 'The database that the feed of changes belongs to';
comment on function number_changes is 'Gives positions to the changed records that are committed, and returns the last one with its tag; complete: nothing is left that was committed before the call';
