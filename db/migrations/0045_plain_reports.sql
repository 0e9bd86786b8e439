-- Reports read rows. What was kept for them is dropped by db/reporting/9_former.sql, after the views that read it are replaced.

-- As the function start_of before, for an index.
create or replace function start_of(extra jsonb) returns timestamptz
  language plpgsql immutable set search_path from current
as $$
declare
  stated jsonb := extra->'start_time';
  said   text  := stated #>> '{}';
  at     timestamptz;
begin
  if said ~ '^\d{1,15}(\.\d{1,9})?$' then
    at := service_time(nullif(said::numeric, 0));
  elsif jsonb_typeof(stated) = 'string' and said ~* '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)? ?(Z|[+-]\d\d(:?\d\d)?)$' then
    at := said::timestamptz;
  end if;
  return case when at < '10000-01-01T00:00Z' then at end;
exception
  when data_exception then
    return null;
end
$$;

do $do$
begin
  execute regexp_replace(
    pg_get_functiondef('reporting.write_zone(text)'::regprocedure),
    '\n  lock table .*? in share mode;|\n  -- A writer [^\n]*|\n  perform outdate_all[^\n]*', '', 'g');
end
$do$;

-- They lose columns.
drop view if exists reporting.silence, reporting.outages;
