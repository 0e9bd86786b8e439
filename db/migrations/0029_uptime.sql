-- When receivers accepted callbacks, what the last comparison with the platform found, and removed names of the platform.

alter table aliases alter column alias drop not null;
comment on column aliases.alias      is 'Null: somebody removed the platform''s name, which does not come back';
comment on column aliases.updated_by is 'Who entered it: an actor of the access log; platform: the platform''s directory';

create table uptime (
  from_at  timestamptz primary key,
  until_at timestamptz not null
);
comment on table  uptime          is 'The times in which at least one receiver accepted callbacks; those that differ by less than three minutes are one row';
comment on column uptime.from_at  is 'The first heartbeat';
comment on column uptime.until_at is 'The last heartbeat';

create table platform_checks (
  name       text        primary key,
  checked_at timestamptz not null,
  findings   jsonb       not null
);
comment on table  platform_checks          is 'The newest result of each comparison of the settings at the platform with those of the receiver';
comment on column platform_checks.name     is 'What was compared: subscriptions';
comment on column platform_checks.findings is 'A list of objects with kind, subject, title and detail; empty: no difference';
