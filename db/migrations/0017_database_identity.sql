create table database_identity (
  id uuid not null default gen_random_uuid()
);
create unique index database_identity_one_row on database_identity ((true));
insert into database_identity default values;

comment on table  database_identity    is 'What distinguishes this database from others that share a Redis with it; a copy of the database has the same';
comment on column database_identity.id is 'A part of the names of its keys in Redis';
