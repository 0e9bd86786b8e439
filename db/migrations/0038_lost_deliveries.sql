-- Deliveries that were acknowledged and are in no store any more.

create table lost_deliveries (
  id          uuid        primary key,
  family      text        not null,
  received_at timestamptz not null,
  lost_from   text        not null check (lost_from in ('redis', 'inbox')),
  found_at    timestamptz not null default now()
);
comment on table  lost_deliveries             is 'Acknowledged callbacks that are in no store any more: ask the platform to send them again. A row goes when its delivery is received again';
comment on column lost_deliveries.received_at is 'When it was acknowledged';
comment on column lost_deliveries.lost_from   is 'redis: it waited there and is gone; inbox: its status is there, its row is not';
comment on column lost_deliveries.found_at    is 'When that was noticed';
