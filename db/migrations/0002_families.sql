create table receipts (
  business_id                text        not null,
  receipt_id                 bigint      not null,
  aid                        text,
  doctor_oid                 text,
  clinic_id                  text,
  patient_oid                text,
  created_at                 timestamptz,
  updated_at                 timestamptz,
  receipt_number             text,
  receipt_url                text,
  receipt_status             text,
  receipt_amount             numeric,
  additional_discount_value  numeric,
  additional_discount_type   text,
  additional_discount_amount numeric,
  net_amount                 numeric,
  name                       text,
  mobile                     text,
  flavour                    text,
  sku_discount_amount        numeric,
  amount_due                 numeric,
  archive                    bigint,
  remarks                    text,
  ref_trx_id                 text,
  payment_id                 text,
  payment_link               text,
  amount_paid                numeric,
  actor                      text,
  client_id                  text        not null,
  last_event                 text        not null,
  event_time                 timestamptz not null,
  deleted_at                 timestamptz,
  extra                      jsonb       not null,
  delivery_id                uuid        not null,
  primary key (business_id, receipt_id)
);

create table consent_forms (
  business_id text        not null,
  id          text        not null,
  docid       text,
  owner       text,
  patientid   text,
  sendurlpdf  text,
  url         text,
  client_id   text        not null,
  last_event  text        not null,
  event_time  timestamptz not null,
  deleted_at  timestamptz,
  extra       jsonb       not null,
  delivery_id uuid        not null,
  primary key (business_id, id)
);

create table review_requests (
  business_id        text        not null,
  doctor_id          text,
  google_review_link text,
  patient_id         text,
  appointment_id     text,
  clinic_id          text,
  client_id          text        not null,
  last_event         text        not null,
  event_time         timestamptz not null,
  deleted_at         timestamptz,
  extra              jsonb       not null,
  delivery_id        uuid        primary key
);

comment on table receipts        is 'Each receipt as its newest version says; a deleted one keeps its row, with deleted_at';
comment on table consent_forms   is 'Each consent form (medical certificate) as its newest version says';
comment on table review_requests is 'Each request to ask a patient for a review';

comment on column receipts.delivery_id        is 'The delivery that made this row';
comment on column receipts.extra              is 'Fields that the interface does not document';
comment on column consent_forms.id            is 'The form';
comment on column consent_forms.docid         is 'The doctor';
comment on column consent_forms.owner         is 'The business';
comment on column consent_forms.delivery_id   is 'The delivery that made this row';
comment on column consent_forms.extra         is 'Fields that the interface does not document';
comment on column review_requests.delivery_id is 'The delivery that made this row';
comment on column review_requests.extra       is 'Fields that the interface does not document';
