-- Patients that a callback names anywhere, and bodies that contain an erased id as a word.

-- No value of it is computed now: '{}' stands for what was stored before, or by a former version.
alter table inbox add column patients text[] default '{}';
comment on column inbox.patients is 'The ids of all patients that the callback names, unless patient_of tells all there is (null); empty: not determined, see patients_beyond';

create function patients_beyond(envelope jsonb) returns text[]
  language sql immutable parallel safe
  return (
with recursive containers (key, value) as (
  select null::text, envelope
  union all
  select child.key, child.value
  from containers c cross join lateral (
    select translate(lower(pair.key), '_-. ', '') as key, pair.value
    from jsonb_each(case when jsonb_typeof(c.value) = 'object' then c.value else '{}' end) as pair
    union all
    select c.key, item
    from jsonb_array_elements(case when jsonb_typeof(c.value) = 'array' then c.value else '[]' end) as item
  ) child
  where jsonb_typeof(child.value) in ('object', 'array')
), keys as (
  select array['patientoid', 'patientid', 'pid', 'oid', 'partnerpatientid', 'abhaaddress', 'abhanumber', 'patient', 'patients'] as list
), named as (
  select pair.value
  from containers c cross join keys
  cross join lateral jsonb_each(case when jsonb_typeof(c.value) = 'object' then c.value else '{}' end) as pair
  where translate(lower(pair.key), '_-. ', '') = any(keys.list)
     or translate(lower(pair.key), '_-. ', '') = 'id' and c.key = any(keys.list)
     or pair.key = 'value' and translate(lower(c.value->>'type'), '_-. ', '') = any(keys.list)
  union all
  select item
  from containers c cross join keys
  cross join lateral jsonb_array_elements(case when jsonb_typeof(c.value) = 'array' then c.value else '[]' end) as item
  where c.key = any(keys.list)
), ids as (
  select distinct btrim(value #>> '{}', E' \t\r\n') as id from named where jsonb_typeof(value) in ('string', 'number')
)
select case when array_agg(id) <> array[coalesce(patient_of(envelope), '')] then array_agg(id) end
from ids where id <> '' and length(id) <= 200
  );
comment on function patients_beyond is 'The ids of all patients that a callback names, with the keys of src/families/patients.ts; null where patient_of tells all there is';

create function patients_of(envelope jsonb, patients text[]) returns text[]
  language sql stable parallel safe
  return array_remove(coalesce(
    case when patients = '{}' then patients_beyond(envelope) else patients end, array[patient_of(envelope)]), null);
comment on function patients_of is 'The ids of all patients that a delivery names, of its envelope and its column patients';

----------------------------------------------------------------------------------------------------------- The gate

-- As with three parameters, which receivers of a former version call; and for each of the other patients that it names.
create function refused_deliveries(ids uuid[], families text[], envelopes jsonb[], patients jsonb[]) returns setof uuid
  language plpgsql stable strict parallel safe rows 1
as $$
begin
  return query
  select d.id
  from unnest(ids, families, envelopes, patients) as d (id, family, envelope, patients)
  cross join (select salt from erasure_salt limit 1) salts
  cross join lateral (
    select erasure_hashes(salt, thing_family(d.family), coalesce(d.envelope->>'business_id', ''),
                          thing_of(d.family, d.envelope), patient_of(d.envelope))
           || case when d.patients is not null then array(
                select unnest(erasure_hashes(salt, thing_family(d.family), coalesce(d.envelope->>'business_id', ''),
                                             thing_of(d.family, d.envelope), named))
                from jsonb_array_elements_text(d.patients) as named
              ) end as hashes offset 0
  ) about
  where exists (
    select from erased e
    where e.hash = any(about.hashes) and e.until >= coalesce(callback_time(d.envelope->'event_time'), '-infinity')
  );
end
$$;
comment on function refused_deliveries(uuid[], text[], jsonb[], jsonb[]) is 'Those of some deliveries that are about an erased patient, or about a thing of one';

----------------------------------------------------------------------------------------------- Bodies without a key

-- 64 bits of a word, which nobody can compute without the salt.
create function word_keys(words jsonb) returns bigint[]
  language sql stable parallel safe
  return array(
    select hashtextextended(word, seed)
    from (select ('x' || encode(substr(salt, 1, 8), 'hex'))::bit(64)::bigint as seed from erasure_salt limit 1) seeds
    cross join jsonb_array_elements_text(words) as word
    order by 1
  );
comment on function word_keys is 'Numbers for words (src/intake/words.ts), for an index';

create table body_words (
  id    uuid     primary key,
  words bigint[] not null
);
revoke all on body_words from public;
create index body_words_words on body_words using gin (words);
comment on table  body_words       is 'The words of deliveries of events that no family lists, and of rejected bodies: an erasure finds an id by it';
comment on column body_words.id    is 'The delivery, or the rejected body';
comment on column body_words.words is 'See word_keys';

create table erased_words (
  erasure_id  uuid        not null references erasures,
  words       bigint[]    not null,
  business_id text        not null,
  until       timestamptz not null,
  patients    bytea[]     not null
);
revoke all on erased_words from public;
-- It has no key, and may be published.
alter table erased_words replica identity full;
create unique index erased_words_once on erased_words (words, business_id);
create index erased_words_words on erased_words using gin (words);
comment on table  erased_words             is 'Ids that were erased, as numbers: a body with all words of one waits for a person';
comment on column erased_words.business_id is 'The business of the erasure; empty: every one';
comment on column erased_words.until       is 'Later events are not of the erasure';
comment on column erased_words.patients    is 'The hashes of the patient, for holds';

create table uncertain_bodies (
  id          uuid        not null,
  source      text        not null check (source in ('inbox', 'quarantine')),
  erasure_id  uuid        not null references erasures,
  business_id text        not null,
  event       text,
  event_time  timestamptz,
  received_at timestamptz not null,
  content     jsonb,
  decision    text        check (decision in ('erase', 'keep')),
  decided_at  timestamptz,
  decided_by  text,
  primary key (id, erasure_id),
  check ((decision is null) = (content is not null))
);
revoke all on uncertain_bodies from public;
create index uncertain_bodies_open on uncertain_bodies (received_at, id) where decision is null;
create index uncertain_bodies_of_erasure on uncertain_bodies (erasure_id);
comment on table  uncertain_bodies            is 'Bodies that contain an erased id as a word: in no other table until a person decides. Afterwards without their content';
comment on column uncertain_bodies.id         is 'The delivery, or the rejected body';
comment on column uncertain_bodies.source     is 'The table that it was in, or would be';
comment on column uncertain_bodies.erasure_id is 'The erasure whose patient it may be about';
comment on column uncertain_bodies.event      is 'Its event; of a rejected body, the reason';
comment on column uncertain_bodies.content    is 'What keeping it stores again; bytes in hexadecimal';

create function uncertain_among(ids uuid[], businesses text[], times timestamptz[], words jsonb[])
  returns table (id uuid, erasure_id uuid)
  language plpgsql stable strict parallel safe rows 1
as $$
begin
  return query
  select d.id, found.erasure_id
  from unnest(ids, businesses, times, words) as d (id, business, event_time, words)
  cross join lateral (select word_keys(d.words) as keys offset 0) searched
  cross join lateral (
    select e.erasure_id from erased_words e
    where e.words <@ searched.keys and (e.business_id in ('', d.business) or d.business = '')
      and e.until >= coalesce(d.event_time, '-infinity')
      and not exists (
        select from uncertain_bodies u where u.id = d.id and u.erasure_id = e.erasure_id and u.decision = 'keep')
    limit 1
  ) found;
end
$$;
comment on function uncertain_among is 'Those of some bodies that contain an erased id as a word, and that nobody has decided to keep';

------------------------------------------------------------------------------------------------------------ Erasures

alter table running_erasures
  add column linked text[] not null default '{}',
  add column uncertain_list uuid not null default gen_random_uuid();
comment on column running_erasures.linked         is 'Other ids of the patient, which an object of a callback tells';
comment on column running_erasures.uncertain_list is 'The erasure_id in erasing of deliveries that contain an id as a word';

alter table erasures add column searched jsonb;
comment on column erasures.searched is 'What was searched, how, and how many bodies were left to a person';

------------------------------------------------------------------------------- What is derived goes with its source

create or replace function forget_deliveries() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate pending_deliveries, failed_deliveries, applied_deliveries, resends, receipt_versions, appointment_versions, body_words;
    return null;
  end if;
  -- Only of those that were applied: another may have no valid id.
  with applied as materialized (
    select d.id, d.family, d.business_id, d.envelope from deleted d
    where d.family in ('receipt', 'appointment') and (
      exists (select from applied_deliveries a where a.id = d.id)
      or exists (select from failed_deliveries f where f.id = d.id and f.applied_at is not null)
    )
  ), receipts as (
    delete from receipt_versions v
    using applied d
    where d.family = 'receipt' and v.receipt_id = reporting.receipt_id(d.envelope)
      and v.business_id = d.business_id and v.delivery_id = d.id
  )
  delete from appointment_versions v
  using applied d
  where d.family = 'appointment' and v.appointment_id = thing_of(d.family, d.envelope)
    and v.business_id = d.business_id and v.delivery_id = d.id;
  delete from pending_deliveries p using deleted d where p.id = d.id;
  delete from failed_deliveries f using deleted d where f.id = d.id;
  delete from applied_deliveries a using deleted d where a.id = d.id;
  delete from resends r using deleted d where r.id = d.id;
  delete from body_words w using deleted d where w.id = d.id and d.family = 'other';
  return null;
end
$$;

create function forget_rejected() returns trigger language plpgsql set search_path from current as $$
begin
  delete from body_words w using deleted d where w.id = d.id;
  return null;
end
$$;
create trigger forget_rejected after delete on quarantine
  referencing old table as deleted for each statement execute function forget_rejected();
