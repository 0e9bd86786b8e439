-- What the views have in common. {{ }} is filled in by src/receiver/store/reporting.ts. All is made again when a text, a family
-- or the time zone has changed, in place where the columns allow it.

create schema if not exists reporting;
comment on schema reporting is 'Reports: views, made again with each version';

-- With the time zone as a constant, so that an index can have it. Not strict, so that PostgreSQL inlines them.
create or replace function reporting.timezone() returns text
  language sql immutable parallel safe return {{timezone}};
create or replace function reporting.day(at timestamptz) returns date
  language sql immutable parallel safe return (at at time zone {{timezone}})::date;
-- In some zones hours begin at half past those of UTC.
create or replace function reporting.hour(at timestamptz) returns timestamptz
  language sql immutable parallel safe return date_bin('1 hour', at, timestamp '2000-01-01' at time zone {{timezone}});
create or replace function reporting.today() returns date
  language sql stable parallel safe return (now() at time zone {{timezone}})::date;

-- A zone that PostgreSQL does not know ends the migration here, and not the first report.
select reporting.today();

create or replace function reporting.amount_due(net numeric, paid numeric, stated numeric) returns numeric
  language sql immutable parallel safe
  return case when abs(coalesce(net - paid, stated)) < 0.005 then 0 else coalesce(net - paid, stated) end;

-- The interface names no other status than SUCCESS.
create or replace function reporting.is_failed(status text) returns boolean
  language sql immutable parallel safe return coalesce(lower(status) = 'failed', false);

create or replace function reporting.receipt_state(status text, deleted_at timestamptz, paid numeric, due numeric) returns text
  language sql immutable parallel safe
  return case
    when reporting.is_failed(status) then 'failed'
    when deleted_at is not null then 'deleted'
    when due <= 0 then 'paid'
    when due > 0 and paid > 0 then 'part_paid'
    when due > 0 then 'unpaid'
  end;

-- Digits of Devanagari, Bengali, Gurmukhi, Gujarati, Oriya, Tamil, Telugu, Kannada, Malayalam, of Arabic and Persian, and wide ones
-- are read, too. What has fewer than six is no number of a person, such as 0 or +91.
create or replace function reporting.phone_key(phone text) returns bigint
  language sql immutable parallel safe
  return nullif(greatest(right('0' || regexp_replace(
    case when octet_length(phone) = length(phone) then phone else translate(phone,
      '०१२३४५६७८९০১২৩৪৫৬৭৮৯੦੧੨੩੪੫੬੭੮੯૦૧૨૩૪૫૬૭૮૯୦୧୨୩୪୫୬୭୮୯௦௧௨௩௪௫௬௭௮௯'
      '౦౧౨౩౪౫౬౭౮౯೦೧೨೩೪೫೬೭೮೯൦൧൨൩൪൫൬൭൮൯٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹０１２３４５６７８９', repeat('0123456789', 12)) end,
    '[^0-9]', '', 'g'), 10)::bigint, 99999), 99999);

-- As a search compares texts, see src/common/plain-text.ts.
create or replace function reporting.number_key(number text) returns text
  language sql immutable parallel safe return {{number_key}};
create or replace function reporting.name_lexemes(name text) returns tsvector
  language sql immutable parallel safe return {{name_lexemes}};

comment on function reporting.timezone   is 'The time zone of the reports (REPORT_TIMEZONE)';
comment on function reporting.day        is 'The day of a moment, in the time zone of the reports';
comment on function reporting.hour       is 'The beginning of a moment''s hour, in the time zone of the reports';
comment on function reporting.today      is 'The current day, in the time zone of the reports';
comment on function reporting.amount_due is 'Net less paid; what the platform stated, where one of them is not known. Less than half a paisa is nothing';
comment on function reporting.is_failed  is 'Whether a receipt has the status FAILED, in any case: it is listed, and in no sum';
comment on function reporting.receipt_state is 'What became of a receipt: failed, deleted, paid, part_paid or unpaid; null: no amount is known';
comment on function reporting.phone_key  is 'The last ten digits of a phone number, so that +91 98765 43210 and 09876543210 are equal, in digits of any script; null: it is none';
comment on function reporting.number_key is 'A printed number without case, spaces and signs, with ASCII digits: JA-2671 is ja2671';
comment on function reporting.name_lexemes is 'The words of a name without case: with marks as blanks, and without them';
