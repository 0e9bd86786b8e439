import type { Report } from '../report.ts';
import { activities, byReceipt, versions } from './parts.ts';

export const accountant: readonly Report[] = [
  {
    view: 'businesses_daily',
    line: 'Totals of each day for the whole business.',
    details: ['consent_forms', 'review_requests'],
    families: activities,
    order: 'day desc, business_id',
    newestDayFirst: true,
  },
  {
    view: 'deleted_receipts',
    line: 'Receipts that were deleted, with their amounts.',
    details: ['gross_amount'],
    families: ['receipt'],
    ...byReceipt,
  },
  {
    view: 'receipts_as_of',
    line: 'All receipts as they were at a date and time, for a closed month.',
    details: ['gross_amount'],
    families: ['receipt'],
    title: 'Receipts as of a date',
    rowsOf: 'all_receipts',
    ...byReceipt,
    withoutTotals: true,
  },
  {
    view: 'receipt_history',
    line: 'Each change of a receipt: amounts before and after.',
    details: ['issued_at', 'gross_amount', 'status'],
    families: ['receipt'],
    ...versions('receipt_id'),
    withoutTotals: true,
  },
  {
    view: 'all_receipts',
    line: 'All receipts, the deleted ones too.',
    details: ['gross_amount'],
    families: ['receipt'],
    ...byReceipt,
    withoutTotals: true,
  },
];
