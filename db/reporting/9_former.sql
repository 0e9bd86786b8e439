-- What former versions had. Last, because their views are replaced in place, with the grants on them and what others have made of them.
drop view if exists
  reporting.visits, reporting.activities, reporting.activities_monthly, reporting.appointment_history, reporting.appointment_payments,
  reporting.suspected_receipts, reporting.completeness, reporting.applied_deliveries, reporting.delivery_health, linked_appointments,
  dues_by_phone, live_activities, live_activity_days, live_doctor_months, live_activity_months, live_appointments, live_appointment_days,
  live_appointment_months, live_deliveries, live_delivery_months, summed_activities, summed_activity_days, summed_doctor_months,
  summed_activity_months, summed_appointments, summed_appointment_days, summed_appointment_months, summed_deliveries,
  summed_delivery_months, counted_others, counted_deliveries, counted_delivery_months cascade;

-- With their triggers.
drop function if exists
  outdate_days_of_receipts, outdate_days_of_erased_receipts, outdate_days_of_consent_forms, outdate_days_of_review_requests,
  outdate_days_of_payment_requests, outdate_days_of_appointments, outdate_days_of_applied_deliveries, outdate_day_of_resend,
  outdate_day_of_version, link_appointment, keep_start cascade;
drop function if exists
  outdated, outdated_months, write_summed_view, write_live_sums, outdate_all, businesses_with, newest_start, states_start, links_of,
  month_of, copy_column_comments, reporting.business_in, reporting.change_time, reporting.rank cascade;
drop table if exists
  outdated_days, wrong_sums, sums_definitions, kept_activities, kept_activity_days, kept_doctor_months, kept_activity_months,
  kept_appointments, kept_appointment_days, kept_appointment_months, kept_deliveries, kept_delivery_months, appointment_links,
  appointment_starts, inferred_days, reconciled_days, unknown_records;
drop aggregate if exists concatenate(interval[]);
