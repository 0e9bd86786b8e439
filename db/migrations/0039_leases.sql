-- Exclusive work is held by rows with a time. No process has to end for others to go on, and who may only read cannot take them, as
-- every role can an advisory lock.

-- A worker of a former version does not know the leases: beside one, the former locks are respected, too.
alter table workers add column uses_leases boolean not null default false;
comment on column workers.uses_leases is 'Whether it takes leases; a worker of a former version takes advisory locks';

-- The lease of the fallback store is renewed here first, then in Redis: what Redis has is one of both.
alter table database_identity add column previous_token uuid;
comment on column database_identity.previous_token is 'The token before: the process that wrote the present one may not have reached Redis';

-- `leases` and `lease_tokens` are there already: the process that runs migrations has taken a lease, see src/store/change-schema.ts.
comment on table  leases             is 'Work that one process at a time does: which one, and until when if it shows no more sign of life';
comment on column leases.name        is 'The work';
comment on column leases.holder      is 'Of one lease: another each time that it is taken';
comment on column leases.until       is 'When another process takes over, unless it is renewed before; -infinity: it was given back';
comment on table  lease_tokens       is 'Grow each time that a lease is taken: a transaction of exclusive work is committed only with the last one';
comment on column lease_tokens.name  is 'The work; also names of which one transaction at a time locks the row';
comment on column lease_tokens.token is 'The last one; greater than each before, also after a restore';

create or replace function record_schema_drift(notes jsonb) returns void
  language plpgsql
as $$
begin
  -- One call at a time, so that no row is added while they are counted.
  insert into lease_tokens (name) values ('schema drift') on conflict do nothing;
  perform from lease_tokens where name = 'schema drift' for update;
  with note as (
    select event, field, kind, value, n.count, n.first_seen, n.last_seen, n.example_delivery,
           s.event is null and n.kind in ('unknown', 'value') as is_new,
           case when n.field = '/event' then '' else n.event end as counted_with
    from jsonb_to_recordset(notes) as n(event text, field text, kind text, value text, count bigint,
      first_seen timestamptz, last_seen timestamptz, example_delivery uuid)
    left join schema_drift s using (event, field, kind, value)
  ), existing as (
    select case when field = '/event' then '' else event end as counted_with, count(*) as rows
    from schema_drift where kind in ('unknown', 'value') group by 1
  ), placed as (
    select event, field, kind, value, count, first_seen, last_seen, example_delivery, is_new and coalesce(existing.rows, 0) + row_number() over (
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
