create table schema_drift (
  event            text        not null,
  field            text        not null,
  kind             text        not null check (kind in ('unknown', 'missing', 'value')),
  value            text        not null default '',
  count            bigint      not null,
  first_seen       timestamptz not null,
  last_seen        timestamptz not null,
  example_delivery uuid        not null,
  primary key (event, field, kind, value)
);

comment on table  schema_drift                  is 'Where callbacks differ from what the interface documents';
comment on column schema_drift.field            is 'The field, as a JSON pointer into the callback';
comment on column schema_drift.kind             is 'unknown: not documented; missing: documented but not there; value: a short text never seen before';
comment on column schema_drift.value            is 'The new value, of the few fields whose values are no personal data';
comment on column schema_drift.count            is 'How often; a crash of a receiver may lose the last seconds';
comment on column schema_drift.example_delivery is 'A delivery that shows it';

create schema if not exists reporting;
comment on schema reporting is 'Views for those who ask questions; the tables behind them may change';

create view reporting.schema_drift as
  select event, field, kind, nullif(value, '') as value, count, first_seen, last_seen, example_delivery
  from schema_drift;

comment on view reporting.schema_drift is 'Where callbacks differ from what the interface documents: fields that are unknown or missing, values never seen before';
comment on column reporting.schema_drift.event            is 'The event whose callbacks differ';
comment on column reporting.schema_drift.field            is 'The field, as a JSON pointer into the callback';
comment on column reporting.schema_drift.kind             is 'unknown: not documented; missing: documented but not there; value: a short text never seen before';
comment on column reporting.schema_drift.value            is 'The new value, where kind is value';
comment on column reporting.schema_drift.count            is 'How many callbacks';
comment on column reporting.schema_drift.first_seen       is 'When it was first seen';
comment on column reporting.schema_drift.last_seen        is 'When it was last seen';
comment on column reporting.schema_drift.example_delivery is 'A delivery that shows it';
