-- What the role of the service may not do itself, it does by functions that run with the owner's rights (db/reporting/7_service.sql).

create function append_access_log(
  actor text, actor_name text, address text, action text, patient_ids text[], keeps_ids boolean, filter jsonb, rows bigint
) returns bigint
  language plpgsql
as $$
declare
  last_entry bigint;
  last_hash  bytea;
  moment     timestamptz;
  seen       bytea[];
  new_hash   bytea;
begin
  with pseudonyms as (
    select distinct patient_hash((select salt from erasure_salt), '', id) as pseudonym, id from unnest(patient_ids) as id
  ), added as (
    insert into patient_pseudonyms (pseudonym, patient_id)
    select pseudonym, id from pseudonyms where keeps_ids order by pseudonym on conflict do nothing
  )
  select coalesce(array_agg(pseudonym order by pseudonym), '{}') into seen from pseudonyms;
  -- One entry at a time: the lock is held until the transaction ends.
  update access_log_head h set entry = h.entry + 1 returning h.entry, h.hash into strict last_entry, last_hash;
  moment := clock_timestamp();
  new_hash := access_log_hash(
    last_hash, last_entry, moment, actor, actor_name, address, action, seen, filter, rows);
  insert into access_log (entry, at, actor, actor_name, address, action, patients, filter, rows, previous, hash)
  values (last_entry, moment, actor, actor_name, address, action, seen, filter, rows, last_hash, new_hash);
  update access_log_head set hash = new_hash;
  return last_entry;
end
$$;
comment on function append_access_log is 'Adds an entry to the access log. keeps_ids: whether the ids of the patients are kept beside the log, so that a report can name them';

create or replace function log_access(
  actor text, actor_name text, address text, action text, patient_ids text[], keeps_ids boolean, filter jsonb, rows bigint
) returns bigint
  language plpgsql security definer
as $$
begin
  -- Such an entry proves a deletion, and is made by it.
  if filter ? 'access_log' then
    raise exception 'only delete_log_entries adds an entry about deleted entries';
  end if;
  return append_access_log(actor, actor_name, address, action, patient_ids, keeps_ids, filter, rows);
end
$$;
comment on function log_access is 'Adds an entry to the access log, see append_access_log. For the role of the service: it may not write to the table';

create function delete_log_entries(
  after bigint, cutoff timestamptz, most integer, actor text, actor_name text, address text,
  out through bigint, out deleted bigint
)
  language plpgsql security definer
as $$
#variable_conflict use_variable
declare
  last_hash bytea;
begin
  with oldest as materialized (
    select a.entry, a.at, a.hash from access_log a where a.entry > after order by a.entry limit most
  )
  select o.entry, o.hash into through, last_hash from oldest o
  where o.entry < coalesce((select min(n.entry) from oldest n where n.at >= cutoff), 9223372036854775807)
  order by o.entry desc limit 1;
  if through is null then
    deleted := 0;
    return;
  end if;
  -- With those before: what remains has no gap.
  delete from access_log a where a.entry <= through;
  get diagnostics deleted = row_count;
  perform append_access_log(
    actor, actor_name, address, 'retention', '{}', false,
    jsonb_build_object('access_log', jsonb_build_object('through', through, 'hash', encode(last_hash, 'hex'))), deleted);
end
$$;
comment on function delete_log_entries is 'Deletes the next of the oldest entries of the access log, which are all before cutoff and older than a year, and adds an entry with the hash of the last one, so that the chain can still be verified';

create function release_hold(patient text, business text, actor text, actor_name text, address text) returns boolean
  language plpgsql security definer
as $$
#variable_conflict use_variable
declare
  is_released boolean;
begin
  delete from patient_holds h using erasure_salt s where h.hash = patient_hash(s.salt, business, patient);
  is_released := found;
  perform append_access_log(
    actor, actor_name, address, 'release', array[patient], false,
    case when business = '' then '{}' else jsonb_build_object('business', business) end, is_released::int);
  return is_released;
end
$$;
comment on function release_hold is 'Releases the hold on a patient, of every business if that is empty, and logs it; false: there was none';

create function destroy_withheld(most integer) returns bigint
  language plpgsql security definer
as $$
#variable_conflict use_variable
declare
  destroyed bigint;
begin
  delete from withheld.records where ctid = any(array(
    select r.ctid from withheld.records r
    where r.destroy_at <= now() and not exists (select from patient_holds h where h.hash = any(r.patients))
    order by r.destroy_at limit most for update
  ));
  get diagnostics destroyed = row_count;
  return destroyed;
end
$$;
comment on function destroy_withheld is 'Destroys withheld records that are due and not held, as many as most at a time';

-- Last, or temporary tables of the caller would take the place of these.
do $$
declare
  name text;
begin
  foreach name in array array['append_access_log', 'log_access', 'delete_log_entries', 'release_hold', 'destroy_withheld'] loop
    execute format('alter function %s set search_path to %I, pg_temp', name::regproc, current_schema());
  end loop;
end
$$;

-- The service's role has to lock these tables, for which it needs the right to update.
create function protect_erased() returns trigger language plpgsql as $$
begin
  if new.hash <> old.hash or new.until < old.until then
    raise exception 'what was erased stays erased' using errcode = '42501';
  end if;
  return new;
end
$$;
create trigger protect_erased before update on erased for each row execute function protect_erased();

create function protect_patient_holds() returns trigger language plpgsql as $$
begin
  raise exception 'a hold is not changed, only released' using errcode = '42501';
end
$$;
create trigger protect_patient_holds before update on patient_holds
  for each row execute function protect_patient_holds();
