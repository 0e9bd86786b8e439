create table quarantine (
  id               uuid        primary key,
  path             text        not null,
  reason           text        not null,
  errors           jsonb       not null default '[]',
  body             bytea       not null,
  received_at      timestamptz not null default now(),
  last_received_at timestamptz not null default now(),
  count            integer     not null default 1,
  replayed_at      timestamptz
);

-- The oldest leave first when there are too many.
create index quarantine_by_age on quarantine (last_received_at);

comment on table  quarantine             is 'Bodies that came in through the door but are no callbacks that we know, once per content';
comment on column quarantine.id          is 'Made of the path and the body, so that a repetition has the same id';
comment on column quarantine.path        is 'The registered path that it came in at';
comment on column quarantine.reason      is 'not_json, invalid, wrong_family, or refused_by_database';
comment on column quarantine.errors      is 'What did not fit: a list of {path, message}';
comment on column quarantine.body        is 'The bytes as received';
comment on column quarantine.count       is 'How often it arrived';
comment on column quarantine.replayed_at is 'When it was taken in after all';
