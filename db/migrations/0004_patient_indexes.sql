-- no transaction
-- Finds the deliveries of a patient, in each of the three spellings, and those of a consent form. A delivery enters one or
-- two of them. (The deliveries of a receipt are in receipts and receipt_versions.)
drop index concurrently if exists inbox_patient_oid;
create index concurrently inbox_patient_oid on inbox ((envelope #>> '{data,patient_oid}'))
  where envelope #>> '{data,patient_oid}' is not null;
drop index concurrently if exists inbox_patientid;
create index concurrently inbox_patientid on inbox ((envelope #>> '{data,patientid}'))
  where envelope #>> '{data,patientid}' is not null;
drop index concurrently if exists inbox_patient_id;
create index concurrently inbox_patient_id on inbox ((envelope #>> '{data,patient_id}'))
  where envelope #>> '{data,patient_id}' is not null;
drop index concurrently if exists inbox_consent_form;
create index concurrently inbox_consent_form on inbox (business_id, (envelope #>> '{data,id}'))
  where family = 'consent_form';
