create table workers (
  id       uuid        primary key,
  families text[]      not null,
  seen_at  timestamptz not null
);
comment on table  workers          is 'Worker processes that run: a row without a heartbeat for a minute is of one that has ended';
comment on column workers.families is 'The families that it applies';
comment on column workers.seen_at  is 'Its last heartbeat';
