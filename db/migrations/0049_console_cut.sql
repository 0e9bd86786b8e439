-- Sessions of the console are rows, so that nothing is signed and ending one deletes it. Of notes, the marks that end an alert stay.

drop table session_key, ended_sessions, saved_views;
create table console_sessions (
  hash       bytea       primary key,
  actor      text        not null,
  actor_name text,
  role       text        not null,
  address    text,
  begun_at   timestamptz not null default now()
);
revoke all on console_sessions from public;
comment on table  console_sessions      is 'Users who are signed in to the console. Those that have expired go with the next sign-in';
comment on column console_sessions.hash is 'Of the cookie and of the secrets of sign-in: nobody can make a cookie from it';

create table seen_deliveries (
  id      uuid        primary key,
  seen_at timestamptz not null default now(),
  seen_by text        not null
);
comment on table  seen_deliveries         is 'Deliveries that somebody has marked as seen, which ends alerts about them; deleted with the delivery';
comment on column seen_deliveries.seen_by is 'An actor of the access log';
insert into seen_deliveries
select distinct on (n.subject_id) n.subject_id, n.created_at, n.created_by
from notes n join inbox i on i.id = n.subject_id
order by n.subject_id, n.created_at;

drop trigger forget_notes on quarantine;
drop trigger forget_notes on inbox;
drop function forget_notes();
drop table notes;

create function forget_seen() returns trigger language plpgsql set search_path from current as $$
begin
  delete from seen_deliveries s using deleted d where s.id = d.id;
  return null;
end
$$;
create trigger forget_seen after delete on inbox
  referencing old table as deleted for each statement execute function forget_seen();
