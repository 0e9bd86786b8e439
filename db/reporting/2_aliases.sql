-- Names for ids.

create or replace view reporting.aliases as
select kind, id, alias, updated_at, case updated_by when 'platform' then 'platform' else 'person' end as source
from aliases
where alias is not null;

comment on view reporting.aliases is 'Names for the ids of businesses, clinics and doctors, as they were entered in the console, imported, or taken from the platform''s directory';
