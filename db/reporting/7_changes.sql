-- The id of a record in the feed where the real one may identify a patient.
create or replace function pseudonym_of_change(business text, id text) returns text
  language sql stable
  return (
    select left(encode(sha256(secret || convert_to(business || chr(1) || id, 'UTF8')), 'hex'), 32) from change_feed
  );

-- The records are gone: what led to them is replaced, also where it was recorded before.
create or replace function forget_changed_ids(family text, gone text[]) returns void language plpgsql as $$
declare
  recorded text;
begin
  -- In this order: rows are moved from the first to the second.
  foreach recorded in array array['changed_records', 'changes'] loop
    execute format($update$
      update %I c set ids = (
        select array_agg(
          case when e.family = $1 and e.id = any($2) then pseudonym_of_change(e.business_id, e.id) else e.id end order by e.n)
        from unnest(c.families, c.business_ids, c.ids) with ordinality as e (family, business_id, id, n)
      )
      where $1 = any(c.families) and c.ids && $2 and exists (select from change_feed)
    $update$, recorded) using family, gone;
  end loop;
  with moved as (
    delete from destination_waiting w where w.family = $1 and w.record_id = any($2)
    returning w.destination_id, w.business_id, w.record_id, w.kind, w.version, w.attempts, w.failed_at, w.next_at, w.parked_at, w.outcome
  )
  insert into destination_waiting (
    destination_id, family, business_id, record_id, kind, version, attempts, failed_at, next_at, parked_at, outcome
  )
  select m.destination_id, $1, m.business_id, pseudonym_of_change(m.business_id, m.record_id), m.kind, m.version, m.attempts,
         m.failed_at, m.next_at, m.parked_at, m.outcome
  from moved m where exists (select from change_feed)
  on conflict do nothing;
end
$$;

-- Gives positions to the changed records that are committed, and returns the last position. Without a row of change_feed it
-- returns nothing. One transaction at a time: the lock is taken before the statement that looks, so that it sees what the
-- previous one has numbered.
--
-- Reads what was not visible at the last step, by the index on transactions; or all there is, where that says nothing: the last
-- step was not complete, or transactions have other numbers than before, because the database was moved to another server.
-- Whoever begins to call it, asks for everything once.
create or replace function number_changes(
  everything boolean, out head bigint, out head_tag uuid, out complete boolean
) language plpgsql set search_path from current set enable_seqscan to off as $$
declare
  most  constant integer := 200;
  -- A page that begins or ends within a position reads all of it.
  most_records constant integer := 100;
  last  record;
  is_known boolean;
begin
  perform pg_advisory_xact_lock(hashtext('receiver changes'));
  select c.position, c.tag, c.seen into last from changes c order by c.position desc limit 1;
  if not found then
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
comment on function pseudonym_of_change is 'The id of a record in the feed of changes where the real one may identify a patient';
comment on function forget_changed_ids is 'Replaces the ids of records that are gone by their pseudonyms, in what is recorded for the feed of changes';
comment on function number_changes is 'Gives positions to the changed records that are committed, and returns the last one with its tag; complete: nothing is left that was committed before the call';
