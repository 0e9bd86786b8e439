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
    chart: {
      title: 'Open admissions by days since the admission',
      by: `case when days_since_admission <= 1 then '0 to 1' when days_since_admission <= 3 then '2 to 3'
             when days_since_admission <= 7 then '4 to 7' else 'more than 7' end`,
    },
  },
  {
    view: 'admissions',
    line: 'Every admission, the newest first.',
    details: ['has_ended'],
    families: ['admission'],
    ...byBusiness('admitted_at', 'admission_id'),
    chart: {},
  },
  {
    view: 'admission_clearances',
    line: 'What is cleared before a discharge, and what is still open.',
    families: ['admission_clearance'],
    ...newestFirst('event_time', 'clearance_id'),
    chart: {
      title: 'Clearances by kind',
      stacked: true,
      by: `coalesce(type, 'none')`,
      series: { given: 'count(*) filter (where not is_open)', open: 'count(*) filter (where is_open)' },
    },
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
