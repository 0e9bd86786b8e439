-- no transaction
-- Deliveries in the order of arrival, without their ids: a statement stores at most 500 at one moment, and a page sorts these.
-- All of a commit then share one entry, and a callback pays less for it.
drop index concurrently if exists applied_deliveries_received;
create index concurrently applied_deliveries_received on applied_deliveries (received_at);
drop index concurrently if exists applied_deliveries_by_arrival;
drop index concurrently if exists applied_deliveries_family_received;
create index concurrently applied_deliveries_family_received on applied_deliveries (family, received_at)
  where family not in ('receipt', 'appointment');
drop index concurrently if exists applied_deliveries_of_family;
