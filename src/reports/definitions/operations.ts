import { driftOrder } from '../../health/figures.ts';
import type { Report } from '../report.ts';
import * as summed from '../summed-rows.ts';
import { counts, newestFirst } from './parts.ts';

const byStatus = {
  summed: summed.deliveryHealth,
  chart: {
    title: 'Callbacks per day by status',
    stacked: true,
    series: counts('applied', 'waiting', 'failed', 'quarantined'),
  },
};

export const operations: readonly Report[] = [
  {
    view: 'deliveries',
    line: 'Every callback that was received.',
    details: ['hour', 'source', 'last_received_at'],
    families: [],
    order: 'received_at desc, delivery_id',
    newestDayFirst: true,
    summed: summed.deliveries,
    chart: { title: 'Callbacks per day' },
  },
  {
    view: 'deliveries_daily',
    line: 'Callbacks of each day by status.',
    families: [],
    ...newestFirst('day', 'family'),
    ...byStatus,
  },
  {
    view: 'delivery_health',
    line: 'Callbacks of each hour by status, with their delays.',
    details: [
      'row_lag_longest_seconds',
      'arrival_lag_longest_seconds',
      'reconciled',
      'duplicates',
      'oldest_waiting',
    ],
    families: [],
    ...newestFirst('hour', 'family'),
    ...byStatus,
  },
  {
    view: 'completeness',
    line: 'What the comparison with the platform has found.',
    details: ['method'],
    families: [],
    ...newestFirst('day', 'family'),
    counted: 2_000,
  },
  {
    view: 'suspected_receipts',
    line: 'Receipts that other records name and that never came.',
    families: ['receipt'],
    ...newestFirst('named_at', 'delivery_id'),
    counted: 2_000,
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
    chart: { title: 'Rejected bodies per day' },
  },
  {
    view: 'schema_drift',
    line: 'Fields and events that the documentation does not have.',
    details: ['first_seen'],
    families: [],
    order: driftOrder,
  },
  {
    view: 'other_events',
    line: 'Events that no report knows yet.',
    families: [],
    title: 'Unknown events',
    order: 'event_time desc, delivery_id',
    newestDayFirst: true,
    chart: { by: 'event' },
  },
  {
    view: 'practice_changes',
    line: 'Clinics and doctors that were added or changed at the platform.',
    families: ['practice_change'],
    ...newestFirst('event_time', 'delivery_id'),
  },
];
