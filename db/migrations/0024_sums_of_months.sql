-- Sums of months: years are read from a few rows of each business or doctor. And of silence, what the gaps of a day amount to.

create table kept_doctor_months (
  business_id             text    not null,
  clinic_id               text,
  doctor_id               text,
  day                     date    not null,
  receipts                bigint  not null,
  gross_amount            numeric not null,
  discount_amount         numeric not null,
  net_amount              numeric not null,
  paid_amount             numeric not null,
  due_amount              numeric not null,
  deleted_receipts        bigint  not null,
  deleted_net_amount      numeric not null,
  consent_forms           bigint  not null,
  review_requests         bigint  not null,
  item_discount_amount    numeric not null,
  outstanding_receipts    bigint  not null,
  outstanding_net_amount  numeric not null,
  outstanding_paid_amount numeric not null,
  outstanding_due_amount  numeric not null,
  payment_requests        bigint  not null,
  requested_amount        numeric not null
);
create index kept_doctor_months_day on kept_doctor_months (business_id, day);
comment on table kept_doctor_months is 'Sums of kept_activities by month; valid where outdated_days names no day of the month. Read them through summed_doctor_months';

create table kept_activity_months (like kept_activity_days);
create index kept_activity_months_day on kept_activity_months (business_id, day);
comment on table kept_activity_months is 'Sums of kept_doctor_months over clinics and doctors. Read them through summed_activity_months';

create table kept_appointment_months (like kept_appointment_days);
create index kept_appointment_months_day on kept_appointment_months (business_id, day);
comment on table kept_appointment_months is 'Sums of kept_appointments by month, over clinics and doctors. Read them through summed_appointment_months';

create table kept_delivery_months (like kept_deliveries);
create index kept_delivery_months_day on kept_delivery_months (business_id, day);
comment on table kept_delivery_months is 'Sums of kept_deliveries by month. Read them through summed_delivery_months';

alter table kept_doctor_months replica identity full;
alter table kept_activity_months replica identity full;
alter table kept_appointment_months replica identity full;
alter table kept_delivery_months replica identity full;
comment on column kept_doctor_months.day      is 'The first day of the month';
comment on column kept_activity_months.day    is 'The first day of the month';
comment on column kept_appointment_months.day is 'The first day of the month';
comment on column kept_delivery_months.day    is 'The first day of the month';

alter table kept_deliveries
  add first_received_at timestamptz,
  add last_received_at  timestamptz,
  add median_gap        interval,
  add longest_gap       interval;
comment on column kept_deliveries.median_gap is 'Between deliveries of the day; null: there is one';

create function month_of(day date) returns date
  language sql immutable strict parallel safe return date_trunc('month', day::timestamp)::date;
comment on function month_of is 'The first day of its month';

create index kept_activities_month on kept_activities (business_id, month_of(day));
create index kept_activity_days_month on kept_activity_days (business_id, month_of(day));
create index kept_appointments_month on kept_appointments (business_id, month_of(day));
create index kept_appointment_days_month on kept_appointment_days (business_id, month_of(day));
create index kept_deliveries_month on kept_deliveries (business_id, month_of(day));

drop function if exists write_summed_view(text, text), write_sums_of_days(text, text, text[]);

select outdate_all('activities'), outdate_all('appointments'), outdate_all('deliveries');
