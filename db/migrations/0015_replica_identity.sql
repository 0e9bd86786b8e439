-- A publication for all tables rejects updates and deletions of a table without a key. No key, because one of these tables may be
-- large, and every row of it would have to be written again; this is immediate.

alter table database_identity replica identity full;
alter table saved_grants replica identity full;
alter table erasure_salt replica identity full;
alter table erased_receipts replica identity full;
alter table access_log_head replica identity full;
alter table withheld.records replica identity full;
