-- Where changes are sent to, as signed webhooks. Nothing is sent while destinations has no row.

create table destinations (
  id                  text        primary key,
  url                 text        not null,
  families            text[]      not null,
  business_id         text,
  is_public           boolean     not null,
  max_in_flight       integer     not null,
  secret              bytea       not null,
  former_secret       bytea,
  former_secret_until timestamptz,
  state               text        not null default 'active' check (state in ('active', 'paused', 'disabled')),
  reason              text,
  state_since         timestamptz not null default now(),
  cursor              text,
  delivered           bigint      not null default 0,
  delivered_at        timestamptz,
  failing_since       timestamptz,
  leased_by           uuid,
  leased_until        timestamptz,
  created_at          timestamptz not null default now()
);
comment on table  destinations                     is 'Where changes are sent to, as signed webhooks';
comment on column destinations.business_id         is 'The business whose changes are sent; null: those of all';
comment on column destinations.is_public           is 'Whether personal columns are left out';
comment on column destinations.max_in_flight       is 'The most requests at the same time';
comment on column destinations.secret              is 'Signs what is sent';
comment on column destinations.former_secret       is 'Signs too, until former_secret_until';
comment on column destinations.state               is 'active; paused: by somebody, or after failures for a day; disabled: it answered 410';
comment on column destinations.reason              is 'Why it is not active';
comment on column destinations.cursor              is 'Of the feed: each change up to it was accepted, or its record is in destination_waiting';
comment on column destinations.failing_since       is 'The first failure since the last success';
comment on column destinations.leased_by           is 'The worker that sends to it, until leased_until';

create table destination_waiting (
  destination_id text        not null references destinations on delete cascade,
  family         text        not null,
  business_id    text        not null,
  record_id      text        not null,
  kind           text        not null,
  version        bigint      not null,
  attempts       integer     not null default 1,
  failed_at      timestamptz not null default now(),
  next_at        timestamptz not null,
  parked_at      timestamptz,
  outcome        text        not null,
  primary key (destination_id, family, business_id, record_id)
);
create index destination_waiting_next on destination_waiting (destination_id, next_at) where parked_at is null;
comment on table  destination_waiting           is 'Records whose last change was not accepted. Their newest state is sent again; later changes wait for that';
comment on column destination_waiting.kind      is 'What a record that is gone is told to be: deleted or erased';
comment on column destination_waiting.version   is 'Of its last change that was read: what is sent again contains that one';
comment on column destination_waiting.failed_at is 'The first failure';
comment on column destination_waiting.parked_at is 'When it was given up; it is sent again when somebody asks for it';
comment on column destination_waiting.outcome   is 'Of the last attempt: a status or the code of an error';

create table destination_attempts (
  id             bigint      generated always as identity primary key,
  destination_id text        not null references destinations on delete cascade,
  at             timestamptz not null default now(),
  type           text        not null,
  outcome        text        not null,
  ms             integer     not null,
  answer         text        not null
);
create index destination_attempts_last on destination_attempts (destination_id, id);
comment on table  destination_attempts         is 'The last attempts for each destination; of successes a sample';
comment on column destination_attempts.type    is 'The type of the message';
comment on column destination_attempts.outcome is 'A status or the code of an error';
comment on column destination_attempts.answer  is 'The beginning of the answer, without words of what was sent';
