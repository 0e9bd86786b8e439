-- no transaction
-- receipt_terms finds these. Callbacks pay for two indexes less.
drop index concurrently if exists receipts_name;
drop index concurrently if exists receipts_number;
-- The entries of a user, by id or by name, and of an action, newest first.
drop index concurrently if exists access_log_actor_entry;
create index concurrently access_log_actor_entry on access_log (actor, entry);
drop index concurrently if exists access_log_name_entry;
create index concurrently access_log_name_entry on access_log (actor_name, entry) where actor_name is not null;
drop index concurrently if exists access_log_action_entry;
create index concurrently access_log_action_entry on access_log (action, entry);
drop index concurrently if exists access_log_actor;
