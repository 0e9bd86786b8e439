-- A reschedule makes a new appointment: which one replaces which, wherever a version of either says so.

alter table appointments add column prev_aids jsonb, add column next_aid jsonb;
alter table appointment_versions add column prev_aids jsonb, add column next_aid jsonb;
comment on column appointments.prev_aids is 'The appointments that it replaces, as received: a list of ids, or one; read them from appointment_links';
comment on column appointments.next_aid  is 'The appointment that replaces it, as received; read it from appointment_links';
comment on column appointment_versions.prev_aids is 'The appointments that it replaces, as received: a list of ids, or one; read them from appointment_links';
comment on column appointment_versions.next_aid  is 'The appointment that replaces it, as received; read it from appointment_links';

create table appointment_links (
  business_id text not null,
  earlier_id  text not null,
  later_id    text not null,
  stated_by   text not null,
  primary key (business_id, earlier_id, later_id, stated_by)
);
create index appointment_links_later on appointment_links (business_id, later_id, earlier_id);
comment on table  appointment_links            is 'Appointments that were rescheduled, with the one that replaces each; either may not have arrived. Triggers write it';
comment on column appointment_links.earlier_id is 'The appointment that was rescheduled';
comment on column appointment_links.later_id   is 'The appointment that replaces it';
comment on column appointment_links.stated_by  is 'Which of the two says so, in any of its versions';

-- A longer text is no id; no appointment has a hundred others.
create function links_of(appointment_id text, variadic sources jsonb[]) returns table (earlier_id text, later_id text)
  language sql immutable parallel safe
begin atomic
  select distinct case when is_later then links_of.appointment_id else id end,
                  case when is_later then id else links_of.appointment_id end
  from unnest(sources) as source,
    lateral (values (false, source->'prev_aids'), (true, source->'next_aid')) as named (is_later, value),
    lateral jsonb_array_elements(case jsonb_typeof(value) when 'array' then value else jsonb_build_array(value) end) as element,
    lateral (select btrim(element #>> '{}') as id) ids
  where jsonb_typeof(element) in ('string', 'number') and length(id) between 1 and 200 and id <> links_of.appointment_id
  limit 100;
end;
comment on function links_of is 'The links that an appointment states: by prev_aids and next_aid of JSON objects, each a list of ids or one id';

-- For each row with links only, so that other rows cost nothing. With the rights of the owner, as the triggers of sums. A link
-- stays while a version states it: later versions often lack these fields.
do $do$
declare
  source record;
  tables constant text := quote_ident(current_schema());
  stated constant text := $$links_of(%1$s.appointment_id, jsonb_build_object('prev_aids', %1$s.prev_aids, 'next_aid', %1$s.next_aid),
                                     %1$s.extra, %1$s.custom_attributes)$$;
  linked constant text := $$%1$s.prev_aids is not null or %1$s.next_aid is not null or %1$s.extra ?| '{prev_aids,next_aid}'
                            or %1$s.custom_attributes ?| '{prev_aids,next_aid}'$$;
begin
  execute format(
    $$
      create function link_appointment() returns trigger language plpgsql
        security definer set search_path = pg_catalog, pg_temp as $body$
      begin
        if tg_op = 'TRUNCATE' then
          delete from %1$s.appointment_links;
        elsif tg_op = 'DELETE' then
          delete from %1$s.appointment_links l
          where l.business_id = old.business_id and l.stated_by = old.appointment_id
            and (l.earlier_id = old.appointment_id or l.later_id = old.appointment_id)
            and (l.earlier_id, l.later_id) not in (
              select s.earlier_id, s.later_id from %1$s.appointments a, %1$s.%2$s s
              where a.business_id = old.business_id and a.appointment_id = old.appointment_id
              union all
              select s.earlier_id, s.later_id from %1$s.appointment_versions v, %1$s.%3$s s
              where v.business_id = old.business_id and v.appointment_id = old.appointment_id
            );
        else
          insert into %1$s.appointment_links (business_id, earlier_id, later_id, stated_by)
          select new.business_id, s.earlier_id, s.later_id, new.appointment_id from %1$s.%4$s s order by 2, 3
          on conflict do nothing;
        end if;
        return null;
      end
      $body$
    $$,
    tables, format(stated, 'a'), format(stated, 'v'), format(stated, 'new'));
  revoke execute on function link_appointment from public;
  for source in select unnest(array['appointments', 'appointment_versions']) as name loop
    execute format(
      'create trigger link_appointment after insert or update on %I for each row when (%s) execute function link_appointment()',
      source.name, format(linked, 'new'));
    execute format(
      'create trigger unlink_appointment after delete on %I for each row when (%s) execute function link_appointment()',
      source.name, format(linked, 'old'));
  end loop;
  create trigger unlink_appointments after truncate on appointments
    for each statement execute function link_appointment();
end
$do$;
