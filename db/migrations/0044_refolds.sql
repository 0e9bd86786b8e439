-- Rows that a former version wrote are folded anew, in the background. A new database has none.

create table refolds (
  name         text        primary key,
  family       text,
  after_key    text[],
  began_at     timestamptz,
  completed_at timestamptz,
  former_at    timestamptz,
  records      bigint      not null default 0,
  changed      bigint      not null default 0,
  unmended     bigint      not null default 0,
  read_at      timestamptz
);
comment on table  refolds              is 'The pass that makes rows anew from their callbacks, where a former version has written them: how far it is, and what it has found';
comment on column refolds.family       is 'The family of the next step; null: no pass is under way';
comment on column refolds.after_key    is 'The key after which the next step begins; null: the first of the family';
comment on column refolds.began_at     is 'When the last pass began';
comment on column refolds.completed_at is 'When it was completed; null: it was not yet';
comment on column refolds.former_at    is 'When a worker of a former version was last seen: another pass is due, if the last began before';
comment on column refolds.records      is 'Records that the last pass has looked at';
comment on column refolds.changed      is 'Those that it has made anew';
comment on column refolds.unmended     is 'Those that may lack what an older callback said, because bodies are reduced';
comment on column refolds.read_at      is 'When somebody has read how many these are';

create table moved_sums (
  day         date        not null,
  business_id text        not null,
  net_before  numeric     not null,
  net_after   numeric     not null,
  paid_before numeric     not null,
  paid_after  numeric     not null,
  due_before  numeric     not null,
  due_after   numeric     not null,
  moved_at    timestamptz not null default now(),
  read_at     timestamptz,
  primary key (day, business_id)
);
comment on table  moved_sums             is 'Days whose sums have changed, because receipts were made anew: the sums of these receipts before and after, without deleted ones';
comment on column moved_sums.day         is 'The day on which they were issued';
comment on column moved_sums.net_before  is 'What was to be paid of them';
comment on column moved_sums.paid_before is 'What was paid of them';
comment on column moved_sums.due_before  is 'What was due of them';
comment on column moved_sums.moved_at    is 'The last change';
comment on column moved_sums.read_at     is 'When somebody has read this row; null: nobody has yet';

alter table workers add column folds boolean not null default false;
comment on column workers.folds is 'Whether it folds the versions of a record; a worker of a former version replaces the whole row';

create function note_former_worker() returns trigger language plpgsql set search_path from current as $$
begin
  update refolds set former_at = new.seen_at where former_at is null or former_at < new.seen_at;
  return null;
end
$$;
create trigger note_former_worker after insert or update on workers
  for each row when (not new.folds) execute function note_former_worker();

insert into refolds (name, completed_at, former_at)
select 'fields', case when not exists (select from inbox) then now() end, (select max(seen_at) from workers);
