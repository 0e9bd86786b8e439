-- The sessions of the console: what signs their cookies, and which of them were ended before their time.

create table session_key (
  id         boolean     primary key default true check (id),
  key        bytea       not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
  created_at timestamptz not null default now()
);
insert into session_key default values;
revoke all on session_key from public;
comment on table session_key is 'Signs the cookies of the console. One row; a new key ends every session. Keep it secret';

create table ended_sessions (
  kind     text        not null check (kind in ('session', 'user')),
  id       text        not null,
  ended_at timestamptz not null,
  until    timestamptz not null,
  primary key (kind, id)
);
revoke all on ended_sessions from public;
comment on table  ended_sessions          is 'Sessions of the console that are not valid any more, although their cookies are';
comment on column ended_sessions.kind     is 'session: one; user: all of a user that began until ended_at';
comment on column ended_sessions.id       is 'Of the session, or the user as an actor of the access log';
comment on column ended_sessions.until    is 'When the last of them has expired, and the row is deleted';
