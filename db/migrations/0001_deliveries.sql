-- Times come as whole numbers of an undocumented unit: above 1e11 they are milliseconds, else seconds.
-- The two parts are added up apart from each other because a double holds neither the whole in microseconds.
-- Not strict: so its text becomes part of a statement, instead of being called. Null is null all the same.
create function service_time(value numeric) returns timestamptz
  language sql stable parallel safe
  return case
    when value > 1e11 then to_timestamp(div(value, 1000)) + mod(value, 1000) * interval '1 millisecond'
    else to_timestamp(value)
  end;

comment on function service_time is 'A time of the service (seconds, or milliseconds above 1e11) as timestamptz';

create table deliveries (
  id               uuid        primary key,
  event            text        not null,
  family           text        not null,
  client_id        text        not null,
  business_id      text        not null,
  event_time       timestamptz not null,
  envelope         jsonb       not null,
  status           text        not null default 'received' check (status in ('received', 'applied', 'failed')),
  error            text,
  delivery_count   integer     not null default 1,
  received_at      timestamptz not null default now(),
  last_received_at timestamptz not null default now(),
  applied_at       timestamptz
);

-- What is still to do is found without reading what is done.
create index deliveries_to_do on deliveries (status, received_at) where status <> 'applied';

comment on table  deliveries                  is 'Every callback that was acknowledged, once';
comment on column deliveries.id               is 'Made of the event time and of what the callback says, so that a repetition has the same id';
comment on column deliveries.envelope         is 'The callback as received';
comment on column deliveries.status           is 'received: not in its table yet; applied: it is; failed: its data broke the statement, see error';
comment on column deliveries.delivery_count   is 'How often it arrived';
