-- no transaction
-- Deliveries in the order of arrival, those of rare families apart; the receipts with a number, of a phone, and of a
-- name; and those that are due. An index takes no long text, and a long one must not fail.
drop index concurrently if exists applied_deliveries_by_arrival;
create index concurrently applied_deliveries_by_arrival on applied_deliveries (received_at, id);
drop index concurrently if exists applied_deliveries_of_family;
create index concurrently applied_deliveries_of_family on applied_deliveries (family, received_at, id)
  where family not in ('receipt', 'appointment');
drop index concurrently if exists receipts_number;
create index concurrently receipts_number on receipts (left(receipt_number, 100)) where receipt_number <> '';
drop index concurrently if exists receipts_phone;
create index concurrently receipts_phone on receipts (phone_key(mobile));
drop index concurrently if exists receipts_name;
create index concurrently receipts_name on receipts (lower(left(name, 100)) text_pattern_ops);
drop index concurrently if exists receipts_due;
create index concurrently receipts_due on receipts (reporting.day(coalesce(created_at, event_time)), business_id)
  include (created_at, event_time, amount_due, net_amount, amount_paid) where amount_due > 0 and deleted_at is null;
