-- Names for ids.

create or replace view reporting.aliases as
select kind, id, alias, updated_at, case updated_by when 'platform' then 'platform' else 'person' end as source
from aliases
where alias is not null;

comment on view reporting.aliases is 'Names for the ids of businesses, clinics and doctors, as they were entered in the console, imported, or taken from the platform''s directory';
comment on column reporting.aliases.kind       is 'business, clinic or doctor';
comment on column reporting.aliases.id         is 'The id in the platform, such as clinic_id of the other views';
comment on column reporting.aliases.alias      is 'The name';
comment on column reporting.aliases.updated_at is 'When it was last changed';
comment on column reporting.aliases.source     is 'person: somebody entered or imported it; platform: from the platform''s directory';
