-- Which database the feed of changes belongs to: a restored backup, and a copy, begin another epoch.
alter table change_feed add place text, add server_started_at timestamptz;
comment on column change_feed.place             is 'The database whose changes it numbers; null: that of the next step, because it was moved as a whole';
comment on column change_feed.server_started_at is 'When the server was started whose transactions were last numbered: after another start, something may be missing';
