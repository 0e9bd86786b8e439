import type { Report } from '../report.ts';
import { byBusiness, newestFirst } from './parts.ts';

export const admissions: readonly Report[] = [
  {
    view: 'open_admissions',
    line: 'Who is admitted now, since when, and what is due.',
    details: ['open_clearance_types', 'status', 'facility_id', 'stage'],
    families: ['admission', 'admission_event', 'admission_clearance', 'admission_estimate'],
    order: 'admitted_at, business_id, admission_id',
    leadsWithBusiness: true,
    range: 'last_365_days',
  },
  {
    view: 'admissions',
    line: 'Every admission, the newest first.',
    details: ['has_ended'],
    families: ['admission'],
    ...byBusiness('admitted_at', 'admission_id'),
  },
  {
    view: 'admission_clearances',
    line: 'What is cleared before a discharge, and what is still open.',
    families: ['admission_clearance'],
    ...newestFirst('event_time', 'clearance_id'),
  },
  {
    view: 'admission_estimates',
    line: 'What a stay was estimated to cost.',
    families: ['admission_estimate'],
    ...newestFirst('event_time', 'estimate_id'),
  },
  {
    view: 'admission_events',
    line: 'What happened during each stay.',
    families: ['admission_event'],
    order: 'happened_at desc, business_id, event_id',
  },
];
