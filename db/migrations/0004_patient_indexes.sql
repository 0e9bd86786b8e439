-- no transaction
-- Finds the deliveries of a patient, in any of the three spellings, and those of a consent form. (The deliveries of a receipt
-- are in receipts and receipt_versions.) Most deliveries need one look into their envelope for it.
drop index concurrently if exists inbox_patient;
create index concurrently inbox_patient on inbox (patient_key(patient_of(envelope)));
drop index concurrently if exists inbox_consent_form;
create index concurrently inbox_consent_form on inbox (business_id, (envelope #>> '{data,id}'))
  where family = 'consent_form';
