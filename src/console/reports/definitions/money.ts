import type { Report } from '../report.ts';
import { activities, byReceipt, daily, newestFirst } from './parts.ts';

export const money: readonly Report[] = [
  {
    view: 'receipts_daily',
    line: 'What was billed, paid and is still due, day by day, of each doctor and clinic.',
    families: ['receipt'],
    ...daily,
  },
  {
    view: 'receipts',
    line: 'Every receipt, the newest first.',
    details: ['gross_amount'],
    families: ['receipt'],
    ...byReceipt,
  },
  {
    view: 'outstanding_receipts',
    line: 'Receipts that are not fully paid, the oldest first, by age.',
    details: ['issued_at'],
    families: ['receipt'],
    order: 'day, issued_at, business_id, receipt_id',
    range: 'all',
  },
  {
    view: 'outstanding_by_phone',
    line: 'Who owes how much: one line for a phone number.',
    families: ['receipt'],
    order: 'due_amount desc, business_id, first_receipt_id',
  },
  {
    view: 'duplicate_receipts',
    line: 'Receipts of the same patient, amount and day: one of them may be too many.',
    details: ['issued_at', 'first_receipt_id'],
    families: ['receipt'],
    order: 'day desc, business_id, first_receipt_id, copy_number',
    newestDayFirst: true,
  },
  {
    view: 'doctors_daily',
    line: 'What each doctor billed, and what is due.',
    families: activities,
    ...newestFirst('day', 'doctor_id'),
  },
  {
    view: 'clinics_daily',
    line: 'What each clinic billed, and what is due.',
    families: activities,
    ...newestFirst('day', 'clinic_id'),
  },
  {
    view: 'payment_requests',
    line: 'Payments that patients were asked for, with their links.',
    families: ['payment_request'],
    ...newestFirst('requested_at', 'delivery_id'),
  },
];
