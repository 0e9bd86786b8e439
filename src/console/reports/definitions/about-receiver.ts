import type { Report } from '../report.ts';
import { newestFirst } from './parts.ts';

export const operations: readonly Report[] = [
  {
    view: 'deliveries',
    line: 'Every callback that was received.',
    details: ['hour', 'source', 'last_received_at'],
    families: [],
    order: 'received_at desc, delivery_id',
    newestDayFirst: true,
  },
  {
    view: 'deliveries_daily',
    line: 'Callbacks of each day by status.',
    families: [],
    ...newestFirst('day', 'family'),
  },
  {
    view: 'silence',
    line: 'Who has sent nothing for longer than usual.',
    families: [],
    order: 'out_of_the_ordinary desc nulls last, present_gap desc, business_id, family',
  },
  {
    view: 'outages',
    line: 'When nothing was received.',
    families: [],
    title: 'Outages of the receiver',
    order: 'from_at desc',
    range: 'last_365_days',
  },
  {
    view: 'quarantine',
    line: 'Rejected bodies, by reason.',
    families: [],
    order: 'received_at desc, quarantine_id',
    newestDayFirst: true,
  },
  {
    view: 'schema_drift',
    line: 'Fields and events that the documentation does not have.',
    details: ['first_seen'],
    families: [],
    order: "kind = 'missing', last_seen desc, event, field, kind, value",
  },
  {
    view: 'other_events',
    line: 'Events that no report knows yet.',
    families: [],
    title: 'Unknown events',
    order: 'event_time desc, delivery_id',
    newestDayFirst: true,
  },
  {
    view: 'practice_changes',
    line: 'Clinics and doctors that were added or changed at the platform.',
    families: ['practice_change'],
    ...newestFirst('event_time', 'delivery_id'),
  },
];
