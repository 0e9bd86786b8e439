-- no transaction
-- Finds the deliveries about a thing, in families without a table of versions, where that table leads to them.
drop index concurrently if exists inbox_consent_form;
drop index concurrently if exists inbox_thing;
create index concurrently inbox_thing on inbox (business_id, thing_of(family, envelope))
  where family not in ('receipt', 'appointment', 'review_request', 'payment_request', 'practice_change', 'notice', 'other');
-- patient_of knows one more spelling.
drop index concurrently if exists inbox_patient;
create index concurrently inbox_patient on inbox (patient_key(patient_of(envelope)));
