-- The same function without `strict`, for which PostgreSQL would have to call it: this way its text becomes
-- part of the statement. Null is still null.
create or replace function service_time(value numeric) returns timestamptz
  language sql stable parallel safe
  return case
    when value > 1e11 then to_timestamp(div(value, 1000)) + mod(value, 1000) * interval '1 millisecond'
    else to_timestamp(value)
  end;
