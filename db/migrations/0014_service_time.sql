-- As before, but for "strict", which keeps the planner from putting the function's text in the place of its
-- call: a call costs more than what it computes, in each report and for each callback. A null still is one.
create or replace function service_time(value numeric) returns timestamptz
  language sql stable parallel safe
  return case
    when value > 1e11 then to_timestamp(div(value, 1000)) + mod(value, 1000) * interval '1 millisecond'
    else to_timestamp(value)
  end;
