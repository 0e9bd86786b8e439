-- no transaction
drop index concurrently if exists inbox_patients;
create index concurrently inbox_patients on inbox using gin (patients) where patients <> '{}';
-- Of what a former version has stored.
drop index concurrently if exists inbox_patients_before;
create index concurrently inbox_patients_before on inbox using gin (patients_beyond(envelope)) where patients = '{}';
-- Those whose words are to be searched.
drop index concurrently if exists inbox_other;
create index concurrently inbox_other on inbox (id) where family = 'other';
