-- The feed of changes. Nothing is written to it while change_feed has no row.

create table change_feed (
  only_row  boolean     primary key default true check (only_row),
  secret    bytea       not null,
  opened_at timestamptz not null default now(),
  served_at timestamptz not null default now()
);
comment on table  change_feed           is 'One row while changes are recorded: from the first process that serves them, until none has for a week';
comment on column change_feed.secret    is 'Seals the cursors, and makes pseudonyms of ids that are personal';
comment on column change_feed.served_at is 'When a process that serves the changes was last seen';

create table changed_records (
  transaction  xid8        not null default pg_current_xact_id(),
  id           uuid        not null default gen_random_uuid(),
  kind         text        not null,
  changed_at   timestamptz not null default now(),
  families     text[]      not null,
  business_ids text[]      not null,
  ids          text[]      not null,
  primary key (transaction, id)
) with (toast_tuple_target = 128, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
alter table changed_records alter families set storage main, alter business_ids set storage main, alter ids set storage main;
comment on table  changed_records             is 'Which records a transaction has changed, until they are numbered. Written by that transaction';
comment on column changed_records.transaction is 'Finds what was committed since the last numbers were given, however many rows an open transaction keeps from being vacuumed';
comment on column changed_records.kind        is 'changed; deleted or erased: rows are gone, unless an older delivery has made them again';

create table changes (
  position     bigint      primary key,
  tag          uuid        not null default gen_random_uuid(),
  kind         text        not null,
  changed_at   timestamptz not null,
  seen         pg_snapshot,
  families     text[]      not null,
  business_ids text[]      not null,
  ids          text[]      not null
) with (toast_tuple_target = 128);
alter table changes alter families set storage main, alter business_ids set storage main, alter ids set storage main;
comment on table  changes          is 'The changed records in the order in which they became visible, each once for each position; never what they contain. See docs/changes.md';
comment on column changes.position is 'Given by one transaction at a time, without a gap: whoever sees one sees all before it';
comment on column changes.tag      is 'Tells it from another change that has its position after the restore of a backup';
comment on column changes.seen     is 'What was visible when it was numbered; null: there was more than one step numbers';
