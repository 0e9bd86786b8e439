-- A stand-in with the columns that the reports read.
create table quarantine (
  id               uuid        primary key,
  path             text        not null,
  reason           text        not null,
  errors           jsonb       not null,
  body             bytea       not null,
  received_at      timestamptz not null default now(),
  last_received_at timestamptz not null default now(),
  count            int         not null default 1,
  replayed_at      timestamptz
);
