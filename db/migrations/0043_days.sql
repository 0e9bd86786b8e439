-- Every time that PostgreSQL can hold has a day that can be counted with. Infinity as a day cannot be subtracted from another, and
-- -infinity means every day in outdated_days; near the ends of the calendar another zone, a week or a month is out of its range.
-- No callback has a time before the year 1 or after 9999, so no index on days has an entry of another day.

create function reporting.write_day(zone text) returns void
  language plpgsql
as $$
begin
  -- Not strict, because a function that contains "case" would not be inlined then.
  execute format(
    'create or replace function reporting.day(at timestamptz) returns date
       language sql immutable parallel safe return case
         when at < ''4713-01-01 00:00:00+00 BC'' then ''4713-01-01 BC''
         when at > ''275760-01-01 00:00:00+00'' then ''275760-01-01''
         else (at at time zone %L)::date
       end',
    zone);
end
$$;
revoke execute on function reporting.write_day from public;
comment on function reporting.write_day is 'Writes the function that has the day of a moment, for a time zone';

create or replace function reporting.write_zone(zone text) returns void
  language plpgsql set search_path from current
as $$
begin
  lock table receipts, erased_receipts, consent_forms, review_requests, payment_requests, appointments, applied_deliveries, resends
    in share mode;
  execute format(
    'create or replace function reporting.timezone() returns text
       language sql immutable parallel safe return %1$L;
     create or replace function reporting.hour(at timestamptz) returns timestamptz
       language sql immutable strict parallel safe return date_bin(''1 hour'', at, %2$L::timestamptz);
     create or replace function reporting.today() returns date
       language sql stable parallel safe return (now() at time zone %1$L)::date',
    zone,
    -- Local midnight: in some zones hours begin at half past those of UTC.
    to_char((timestamp '2000-01-01' at time zone zone) at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS"+00"'));
  perform reporting.write_day(zone);
  -- A writer that computed a day in the former zone has ended before the new one counts.
  perform outdate_all('activities');
  perform outdate_all('appointments');
  perform outdate_all('deliveries');
end
$$;

select reporting.write_day(reporting.timezone());
comment on function reporting.day is 'The day of a moment, in the time zone of the reports. What is before 4713 BC or after 275759 counts on the first or last day of these years';
