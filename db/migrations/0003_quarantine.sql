-- Whom refused bodies name: erasures, holds and the limit of the quarantine read it.

alter table receiver.quarantine add column subjects text[] not null default '{}';
comment on column receiver.quarantine.subjects is 'Whom it names, and its record or those that it refers to, as far as it can be read: as in inbox';
comment on table receiver.counters is 'drift: where callbacks differ from the documents; rejections: refused requests, by hour and status; quarantine: refused bodies that were not kept, by reason; stale: rows that the daily merge has corrected';
