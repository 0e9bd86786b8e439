-- Deliveries that wait for something of their own, apart from the others.

create table blocked_deliveries (
  id       uuid        primary key,
  family   text        not null,
  cause    text        not null check (cause in ('locked', 'damaged', 'state not writable')),
  detail   text,
  since    timestamptz not null default now(),
  tried_at timestamptz,
  next_at  timestamptz not null default now()
);
comment on table  blocked_deliveries          is 'Acknowledged deliveries that cannot be applied for a reason that is not theirs: a locked row, a damaged page. Each is tried on its own, and its row goes when it is applied';
comment on column blocked_deliveries.detail   is 'What it waits for, and what ends that; null: not known yet';
comment on column blocked_deliveries.since    is 'When it was set aside';
comment on column blocked_deliveries.tried_at is 'The last attempt; null: none since it was set aside';
comment on column blocked_deliveries.next_at  is 'When it is tried again';

create table spilled_deliveries (
  id          uuid        primary key,
  family      text        not null,
  body        bytea       not null,
  detail      text,
  received_at timestamptz not null default now(),
  next_at     timestamptz not null default now()
);
comment on table  spilled_deliveries             is 'Acknowledged callbacks that inbox cannot take, because its page is damaged. A worker moves them there as soon as it can';
comment on column spilled_deliveries.detail      is 'Which page is damaged, and what to do';
comment on column spilled_deliveries.received_at is 'When it was acknowledged';
comment on column spilled_deliveries.next_at     is 'When it is tried again';
