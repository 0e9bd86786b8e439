-- Both a lease and a pause after a failure are a next_at to come. Handlers tell them apart after a restart.
alter table receiver.destinations add column is_leased boolean not null default false;
comment on column receiver.destinations.is_leased is 'A process sends to it, or has ended without a word: next_at is the end of its lease, and no pause';
