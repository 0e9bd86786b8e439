-- The quarantine is limited by its bytes and may have hundreds of thousands of rows: none of its pages, counts and
-- evictions may read every body.

alter table quarantine
  -- 1024: the other columns, and the entries of the indexes, as measured.
  add column bytes bigint generated always as (octet_length(body) + 1024) stored,
  -- A rejected body may contain any bytes; escaped, they can be searched as text.
  add column business_id text generated always as (
    substring(encode(body, 'escape') from '"business_id"\s*:\s*"([^"\\]{1,200})"')) stored;
comment on column quarantine.bytes       is 'What it counts towards the limit: its body, and 1024 bytes';
comment on column quarantine.business_id is 'The business id in the body; null if it cannot be read';

-- In the order of eviction: replayed ones first, then the oldest.
create index quarantine_by_worth on quarantine ((replayed_at is null), last_received_at, id) include (bytes)
  where not acknowledged;
-- Also counts by reason.
create index quarantine_open on quarantine (last_received_at, id) include (reason, received_at)
  where replayed_at is null;
create index quarantine_corrections on quarantine (corrects) where corrects is not null;
drop index quarantine_by_age;

create table dropped_bodies (
  day     date        not null,
  reason  text        not null,
  count   bigint      not null,
  bytes   bigint      not null,
  last_at timestamptz not null,
  primary key (day, reason)
);
comment on table  dropped_bodies         is 'Rejected bodies that were not replayed and that the limit of the quarantine has evicted, by day (UTC)';
comment on column dropped_bodies.reason  is 'Why they had been rejected';
comment on column dropped_bodies.last_at is 'When the last of them was dropped';
