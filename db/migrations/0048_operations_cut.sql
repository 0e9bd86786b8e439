-- Receivers count rejected requests in memory.

drop table rejected_requests;
