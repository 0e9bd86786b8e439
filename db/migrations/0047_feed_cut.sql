-- One loop sends a destination its changes in order. The feed has no families whose ids may identify a patient, and nothing
-- to conceal: it begins another epoch.

drop function if exists pseudonym_of_change, forget_changed_ids;
drop table destination_waiting, destination_attempts;
delete from change_feed;
delete from changed_records;
delete from changes;
alter table change_feed drop secret;
update destinations set cursor = null, leased_by = null, leased_until = null, failing_since = null;
update destinations set state = 'paused', state_since = now(), reason = 'It was upgraded: it begins anew with all records'
where state <> 'paused';
alter table destinations
  drop max_in_flight, drop former_secret, drop former_secret_until,
  add attempts integer not null default 0, add next_at timestamptz;
comment on column destinations.state    is 'active; paused: by somebody, after failures for three days, or because it answered 410';
comment on column destinations.reason   is 'Why it is paused, or what it answered last to the change that it does not accept';
comment on column destinations.cursor   is 'Of the feed: each change up to it was accepted or skipped';
comment on column destinations.attempts is 'How often the next change was not accepted';
comment on column destinations.next_at  is 'When it is sent again';
