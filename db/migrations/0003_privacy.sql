-- Who saw personal data, what was erased and must not come back, and what is kept because a law asks for it.

------------------------------------------------------------------------------------------- Patients and their hashes

create table erasure_salt (
  salt bytea not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
);
create unique index erasure_salt_one_row on erasure_salt ((true));
insert into erasure_salt default values;
revoke all on erasure_salt from public;
comment on table erasure_salt is 'Makes the hashes of patients those of this database alone. Keep it secret: ids of patients can be guessed';

create function patient_of(envelope jsonb) returns text
  language sql immutable parallel safe
  return coalesce(nullif(envelope #>> '{data,patient_oid}', ''), nullif(envelope #>> '{data,patientid}', ''),
                  nullif(envelope #>> '{data,patient_id}', ''));
comment on function patient_of is 'The patient that a callback names, in any of the three spellings; null: nobody';

create function patient_key(patient text) returns bigint
  language sql immutable parallel safe
  return hashtextextended(patient, 0);
comment on function patient_key is 'A number for a patient, for an index that costs half of one with the text';

-- Single expressions, so that PostgreSQL inlines them: once something was erased, each insert computes these hashes of each
-- delivery. The length of the business makes a text unambiguous.
create function patient_hash(salt bytea, business text, patient text) returns bytea
  language sql stable parallel safe
  return sha256(salt || convert_to('patient:' || length(business) || ':' || business || ':' || patient, 'UTF8'));
comment on function patient_hash is 'The hash of a patient of a business; of every business if that is empty. Null without a patient';

create function thing_hash(salt bytea, family text, business text, patient text, thing text) returns bytea
  language sql stable parallel safe
  return sha256(salt || convert_to(
    'thing:' || family || ':' || length(business) || ':' || business || ':' || length(patient) || ':' || patient || ':' || thing,
    'UTF8'));
comment on function thing_hash is 'The hash of a thing (a receipt, a consent form, …) of a patient, who is empty if the callback names none';

create function patient_hashes(salt bytea, business text, patient text) returns bytea[]
  language sql stable parallel safe
  return array[patient_hash(salt, '', patient), patient_hash(salt, business, patient)];
comment on function patient_hashes is 'The hashes of a patient: of every business, and of this one; null without a patient';

create function erasure_hashes(salt bytea, family text, business text, thing text, patient text) returns bytea[]
  language sql stable parallel safe
  return array[
    patient_hash(salt, '', patient), patient_hash(salt, business, patient),
    thing_hash(salt, family, business, coalesce(patient, ''), thing)
  ];
comment on function erasure_hashes is 'The hashes by which a delivery is recognised as erased: of its patient, and of its thing together with the patient';

----------------------------------------------------------------------------------------------------------- Erasures

create table erasures (
  id            uuid        primary key default gen_random_uuid(),
  erased_at     timestamptz not null default now(),
  erased_by     text        not null,
  counts        jsonb       not null,
  destroy_after timestamptz,
  destroyed_at  timestamptz
);
comment on table  erasures               is 'A certificate for each erasure, without personal data';
comment on column erasures.erased_by     is 'Who erased: an actor of the access log';
comment on column erasures.counts        is 'The number of rows that were erased, by table';
comment on column erasures.destroy_after is 'When the last of the withheld records is due; null: nothing was withheld';
comment on column erasures.destroyed_at  is 'When the last of them was destroyed, or the time of the erasure where nothing was withheld';

create table erased (
  hash       bytea       primary key,
  until      timestamptz not null,
  erasure_id uuid        not null references erasures
);
comment on table  erased       is 'What must not come back: salted hashes, no ids. Every statement that stores or applies deliveries takes a share lock on it, and an erasure an exclusive one';
comment on column erased.hash  is 'Of a patient, or of a thing of that patient, see erasure_hashes';
comment on column erased.until is 'A delivery with this hash is erased if its event time is not later';

create table patient_holds (
  hash    bytea       primary key,
  held_at timestamptz not null default now(),
  held_by text        not null
);
comment on table  patient_holds      is 'Patients whose data is neither destroyed nor deleted by retention while the hold lasts';
comment on column patient_holds.hash is 'Of the patient, see patient_hashes';

create table erased_receipts (
  business_id                text    not null,
  day                        date    not null,
  status                     text,
  is_deleted                 boolean not null,
  receipt_amount             numeric,
  sku_discount_amount        numeric,
  additional_discount_amount numeric,
  net_amount                 numeric,
  amount_paid                numeric,
  amount_due                 numeric
);
comment on table  erased_receipts     is 'What remains of erased receipts, for the totals of past days (ERASURE_KEEPS_TOTALS): no id, no text';
comment on column erased_receipts.day is 'The day on which the receipt was issued';
create index erased_receipts_day on erased_receipts (business_id, day);

-- Only the owner of the database may read it; the service inserts and destroys.
create schema withheld;
revoke all on schema withheld from public;
comment on schema withheld is 'What was erased and is kept until a law no longer asks for it; then the worker destroys it';

create table withheld.records (
  erasure_id  uuid        not null references erasures,
  source      text        not null,
  patients    bytea[]     not null,
  destroy_at  timestamptz not null,
  received_at timestamptz not null,
  content     jsonb       not null
);
revoke all on withheld.records from public;
create index records_of_erasure on withheld.records (erasure_id);
create index records_due on withheld.records (destroy_at);
comment on table  withheld.records            is 'The rows of erased patients';
comment on column withheld.records.source     is 'The table that the row was in';
comment on column withheld.records.patients   is 'The hashes of its patients, for holds';
comment on column withheld.records.destroy_at is 'When it is destroyed, unless a hold lasts longer';
comment on column withheld.records.content    is 'The row; bytes in hexadecimal';

--------------------------------------------------------------------------------------------------------- Access log

create table access_log (
  entry      bigint      primary key,
  at         timestamptz not null,
  actor      text        not null,
  actor_name text,
  address    text,
  action     text        not null,
  patients   bytea[]     not null,
  filter     jsonb       not null,
  rows       bigint,
  previous   bytea       not null,
  hash       bytea       not null
);
comment on table  access_log            is 'Who saw or did what. Rows are chained: `receiver audit verify` finds any that was changed or removed';
comment on column access_log.actor      is 'admin-token, the subject of the identity provider, the user of a command, or worker';
comment on column access_log.actor_name is 'The name that the identity provider gives';
comment on column access_log.address    is 'The address of the request, or the host of a command';
comment on column access_log.patients   is 'Whose data it was, as pseudonyms, see patient_pseudonyms';
comment on column access_log.filter     is 'What was selected, without personal data';
comment on column access_log.rows       is 'The number of rows';
comment on column access_log.previous   is 'The hash of the entry before';
comment on column access_log.hash       is 'SHA-256 of the previous hash and of this row';
create index access_log_actor on access_log (actor, at);
create index access_log_time on access_log using brin (at);
create index access_log_patients on access_log using gin (patients);

create table access_log_head (
  entry bigint not null,
  hash  bytea  not null
);
create unique index access_log_head_one_row on access_log_head ((true));
insert into access_log_head values (0, sha256(''));
comment on table access_log_head is 'The last entry of the access log, so that a removed one is found';

create table patient_pseudonyms (
  pseudonym  bytea primary key,
  patient_id text  not null
);
comment on table patient_pseudonyms is 'The patients of the access log. An erasure removes the patient here, so that the log itself need not change';

-- Nobody changes the log, not even by accident. Retention deletes entries that are older than a year.
create function protect_access_log() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '1 year' then
    return old;
  end if;
  raise exception 'entries of access_log are neither changed nor deleted';
end
$$;
create trigger protect_access_log before update or delete on access_log
  for each row execute function protect_access_log();
create trigger protect_whole_access_log before truncate on access_log
  for each statement execute function protect_access_log();

create function access_log_hash(
  previous bytea, entry bigint, at timestamptz, actor text, actor_name text, address text, action text,
  patients bytea[], filter jsonb, rows bigint
) returns bytea
  language sql stable parallel safe
  return sha256(previous || array_send(patients) || convert_to(jsonb_build_array(
    entry, (extract(epoch from at) * 1000000)::bigint, actor, actor_name, address, action, filter, rows
  )::text, 'UTF8'));
comment on function access_log_hash is 'The hash of an entry of the access log; the same expression is in src/privacy/verify-log.ts';

create function log_access(
  actor text, actor_name text, address text, action text, patient_ids text[], keeps_ids boolean, filter jsonb, rows bigint
) returns bigint
  language plpgsql
as $$
declare
  head     access_log_head;
  moment   timestamptz;
  seen     bytea[];
  new_hash bytea;
begin
  with pseudonyms as (
    select distinct patient_hash((select salt from erasure_salt), '', id) as pseudonym, id from unnest(patient_ids) as id
  ), added as (
    insert into patient_pseudonyms select * from pseudonyms where keeps_ids order by pseudonym on conflict do nothing
  )
  select coalesce(array_agg(pseudonym order by pseudonym), '{}') into seen from pseudonyms;
  -- One entry at a time: the lock is held until the transaction ends.
  update access_log_head h set entry = h.entry + 1 returning h.* into strict head;
  moment := clock_timestamp();
  new_hash := access_log_hash(
    head.hash, head.entry, moment, actor, actor_name, address, action, seen, filter, rows);
  insert into access_log
  values (head.entry, moment, actor, actor_name, address, action, seen, filter, rows, head.hash, new_hash);
  update access_log_head set hash = new_hash;
  return head.entry;
end
$$;
comment on function log_access is 'Adds an entry to the access log. keeps_ids: whether the ids of the patients are kept beside the log, so that a report can name them';
