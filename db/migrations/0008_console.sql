-- What the people who work with the console enter, what receivers count together, and which alerts are on.

create table aliases (
  kind       text        not null check (kind in ('business', 'clinic', 'doctor')),
  id         text        not null,
  alias      text        not null check (alias <> ''),
  updated_at timestamptz not null default now(),
  updated_by text        not null,
  primary key (kind, id)
);
comment on table  aliases            is 'Names for the ids of businesses, clinics and doctors';
comment on column aliases.updated_by is 'Who entered it: an actor of the access log';

create table notes (
  id         uuid        primary key default gen_random_uuid(),
  subject_id uuid        not null,
  text       text        not null,
  created_at timestamptz not null default now(),
  created_by text        not null
);
create index notes_of_subject on notes (subject_id, created_at);
comment on table  notes            is 'Notes on deliveries and rejected bodies; deleted with them';
comment on column notes.subject_id is 'The delivery, or the row of quarantine';
comment on column notes.text       is 'Empty: it was marked as seen';
comment on column notes.created_by is 'Who wrote it: an actor of the access log';

create function forget_notes() returns trigger language plpgsql set search_path from current as $$
begin
  delete from notes n using deleted d where n.subject_id = d.id;
  return null;
end
$$;
create trigger forget_notes after delete on inbox
  referencing old table as deleted for each statement execute function forget_notes();
create trigger forget_notes after delete on quarantine
  referencing old table as deleted for each statement execute function forget_notes();

create table saved_views (
  owner      text        not null,
  name       text        not null,
  address    text        not null,
  created_at timestamptz not null default now(),
  primary key (owner, name)
);
comment on table  saved_views         is 'Pages of the console with their filters, saved under a name';
comment on column saved_views.owner   is 'Whose it is: an actor of the access log';
comment on column saved_views.address is 'The path and query below /console';

alter table quarantine add column corrects uuid;
comment on column quarantine.corrects is 'The rejected body that this one corrects; null: it was received';

alter table applied_deliveries add column replayed boolean not null default false;
comment on column applied_deliveries.replayed is 'Whether it failed before, so that the time until it was applied includes the repair';

create table rejected_requests (
  minute timestamptz not null,
  family text        not null,
  status integer     not null,
  reason text        not null,
  count  bigint      not null,
  primary key (minute, family, status, reason)
);
comment on table  rejected_requests        is 'How many requests receivers rejected in each minute; a crash of a receiver may lose the counts of the last seconds';
comment on column rejected_requests.family is 'The family of the registered path; none: another path';
comment on column rejected_requests.status is 'The status of the response';
comment on column rejected_requests.reason is 'The name of the error';

create table alerts (
  channel    text        not null,
  name       text        not null,
  subject    text        not null,
  detail     jsonb       not null,
  started_at timestamptz not null default now(),
  sent_at    timestamptz,
  ended_at   timestamptz,
  primary key (channel, name, subject)
);
comment on table  alerts            is 'The alerts that are on, and those whose end is still to be sent';
comment on column alerts.channel    is 'How it is sent: webhook or e-mail; each has its own row, so that one that fails is retried alone';
comment on column alerts.name       is 'What is wrong, such as failed';
comment on column alerts.subject    is 'Where several may be: the business that is silent, for example; otherwise empty';
comment on column alerts.detail     is 'Figures of the message; without personal data';
comment on column alerts.started_at is 'When it was first seen';
comment on column alerts.sent_at    is 'When it was last sent; null: not yet';
comment on column alerts.ended_at   is 'When it ended; the row is deleted once that is sent';

-- A number, because an index of texts is twice as large.
create function phone_key(phone text) returns bigint
  language sql immutable parallel safe
  return nullif(right('0' || regexp_replace(phone, '[^0-9]', '', 'g'), 10), '0')::bigint;
comment on function phone_key is 'The last ten digits of a phone number, so that +91 98765 43210 and 09876543210 are equal; null: it has none';
