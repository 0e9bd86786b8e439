-- The words by which receipts are found. The worker makes them, after the receipts were applied: src/store/search-terms.ts.

-- Ranges of ASCII, so that every locale splits alike.
create function name_words(name text) returns text[]
  language sql immutable parallel safe
  return array(
    select distinct word from regexp_split_to_table(lower(left(name, 100)), E'[\\s!-/:-@\\[-`{-~]+') as word where word <> ''
  );
comment on function name_words is 'The words of a name, in lower case, each once';

create function number_key(receipt_number text) returns text
  language sql immutable parallel safe
  return lower(regexp_replace(left(receipt_number, 60), E'[\\s!-/:-@\\[-`{-~]+', '', 'g'));
comment on function number_key is 'The number that is printed on a receipt without separators, so that R-1428 and r1428 are equal';

create function number_parts(key text) returns text[]
  language sql immutable parallel safe
  return array(
    select distinct substr(key, place, 3) from generate_series(1, greatest(length(key) - 2, 1)) as place where key <> ''
  );
comment on function number_parts is 'All parts of three characters of a number_key; of a shorter one, itself';

create function phone_end(phone text) returns text
  language sql immutable parallel safe
  return reverse(lpad(phone_key(phone)::text, 10, '0'));
comment on function phone_end is 'The last ten digits of a phone number from the last to the first, so that its end is a beginning; null: it has none';

create function receipt_terms_of(name text, mobile text, receipt_number text) returns tsvector
  language sql immutable parallel safe
  return array_to_tsvector(array(
    select 'n' || word from unnest(name_words(name)) as word
    union all
    select 'p' || phone_end(mobile) where phone_end(mobile) is not null
    union all
    select '#' || part from unnest(number_parts(number_key(receipt_number))) as part
  ));
comment on function receipt_terms_of is 'What a receipt is found by: n and each word of the name, p and the phone_end, # and each part of the number';

create table receipt_terms (
  business_id text     not null,
  receipt_id  bigint   not null,
  terms       tsvector not null,
  primary key (business_id, receipt_id)
);
-- A sample in pg_stats would keep what was erased.
alter table receipt_terms alter column terms set statistics 0;
create index receipt_terms_terms on receipt_terms using gin (terms);
comment on table  receipt_terms       is 'What receipts are found by; valid where outdated_terms does not name the receipt';
comment on column receipt_terms.terms is 'See receipt_terms_of';

create table outdated_terms (
  business_id text    not null,
  receipt_id  bigint  not null,
  and_later   boolean not null default false
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- No key: two writers of one receipt do not wait for each other.
alter table outdated_terms replica identity full;
comment on table  outdated_terms           is 'Receipts that have changed since their terms were made: a trigger adds a row with each change, in its transaction';
comment on column outdated_terms.and_later is 'Whether it stands for every receipt of the business with a greater id';

-- What is deleted is not found from then on: the terms go in the same transaction. They may be of a version that was superseded
-- since, so a deleted version takes them along, too.
do $do$
declare
  source record;
  tables constant text := quote_ident(current_schema());
begin
  execute format(
    $$
      create function outdate_terms() returns trigger language plpgsql
        security definer set search_path = pg_catalog, pg_temp as $body$
      begin
        case tg_op
          when 'INSERT' then
            insert into %1$s.outdated_terms (business_id, receipt_id) select business_id, receipt_id from inserted;
          when 'UPDATE' then
            insert into %1$s.outdated_terms (business_id, receipt_id)
            select business_id, receipt_id from (
              select business_id, receipt_id, name, mobile, receipt_number from inserted
              except
              select business_id, receipt_id, name, mobile, receipt_number from deleted
            ) changed;
          when 'DELETE' then
            delete from %1$s.receipt_terms t using deleted d
            where t.business_id = d.business_id and t.receipt_id = d.receipt_id;
            insert into %1$s.outdated_terms (business_id, receipt_id) select business_id, receipt_id from deleted;
          else
            delete from %1$s.receipt_terms;
            delete from %1$s.outdated_terms;
        end case;
        return null;
      end
      $body$
    $$,
    tables);
  revoke execute on function outdate_terms from public;
  for source in
    select name, event, transition from (values
      ('receipts',         'insert',   'referencing new table as inserted'),
      ('receipts',         'update',   'referencing new table as inserted old table as deleted'),
      ('receipts',         'delete',   'referencing old table as deleted'),
      ('receipts',         'truncate', ''),
      ('receipt_versions', 'delete',   'referencing old table as deleted')
    ) as triggers (name, event, transition)
  loop
    execute format(
      'create trigger outdate_terms_%s after %s on %I %s for each statement execute function outdate_terms()',
      source.event, source.event, source.name, source.transition);
  end loop;
end
$do$;

insert into outdated_terms (business_id, receipt_id, and_later)
select distinct business_id, -9223372036854775808, true from businesses_with('activities') as business_id;
