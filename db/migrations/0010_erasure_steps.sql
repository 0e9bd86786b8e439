-- An erasure of any size, beside callbacks: it is continued after an interruption, and these tables are empty afterwards.

create table running_erasures (
  erasure_id  uuid    primary key,
  actor       jsonb   not null,
  patient_id  text    not null,
  business_id text,
  patients    bytea[] not null default '{}',
  is_found    boolean not null default false
);
revoke all on running_erasures from public;
comment on table  running_erasures             is 'Erasures that have begun and are not complete: their certificates are not valid yet';
comment on column running_erasures.actor       is 'Who erases: an actor of the access log';
comment on column running_erasures.business_id is 'The business; null: every one';
comment on column running_erasures.patients    is 'The hashes of the patient, for holds';
comment on column running_erasures.is_found    is 'Whether erasing contains all of it';

create table erasing (
  id           uuid    not null,
  erasure_id   uuid    not null,
  family       text    not null,
  thing_family text    not null,
  business_id  text    not null,
  thing        text,
  is_shared    boolean not null default false,
  primary key (id, erasure_id)
);
revoke all on erasing from public;
-- A number, because an index takes no long text.
create index erasing_things on erasing (erasure_id, hashtextextended(thing, 0));
comment on table  erasing           is 'Deliveries that running erasures have found: neither applied nor deleted by retention. Exports use it in transactions that are rolled back';
comment on column erasing.thing     is 'The id of the thing, see thing_of';
comment on column erasing.is_shared is 'Whether another delivery about the thing names another patient';
