import type { Report } from '../report.ts';
import * as summed from '../summed-rows.ts';
import { activities, amounts, byReceipt, daily, newestFirst, topTwelve } from './parts.ts';

export const money: readonly Report[] = [
  {
    view: 'receipts_daily',
    line: 'What was billed, paid and is still due, day by day, of each doctor and clinic.',
    families: ['receipt'],
    ...daily,
    summed: summed.receiptsDaily,
    chart: amounts('net', 'paid', 'due'),
  },
  {
    view: 'receipts',
    line: 'Every receipt, the newest first.',
    details: ['gross_amount'],
    families: ['receipt'],
    ...byReceipt,
    summed: summed.receipts,
    chart: amounts('net', 'paid', 'due'),
  },
  {
    view: 'outstanding_receipts',
    line: 'Receipts that are not fully paid, the oldest first, by age.',
    details: ['issued_at'],
    families: ['receipt'],
    order: 'day, issued_at, business_id, receipt_id',
    range: 'all',
    summed: summed.outstandingReceipts,
  },
  {
    view: 'outstanding_by_phone',
    line: 'Who owes how much: one line for a phone number.',
    families: ['receipt'],
    order: 'due_amount desc, business_id, first_receipt_id',
    // Each receipt is read from the table.
    many: { over: 20_000, view: 'dues_by_phone', order: 'business_id, phone, patient' },
    summed: summed.outstandingByPhone,
  },
  {
    view: 'duplicate_receipts',
    line: 'Receipts of the same patient, amount and day: one of them may be too many.',
    details: ['issued_at', 'first_receipt_id'],
    families: ['receipt'],
    order: 'day desc, business_id, first_receipt_id, copy_number',
    newestDayFirst: true,
    counted: 2_000,
  },
  {
    view: 'doctors_daily',
    line: 'What each doctor billed, and what is due.',
    families: activities,
    ...newestFirst('day', 'doctor_id'),
    summed: summed.activitiesDaily,
    chart: topTwelve('doctor'),
  },
  {
    view: 'clinics_daily',
    line: 'What each clinic billed, and what is due.',
    families: activities,
    ...newestFirst('day', 'clinic_id'),
    summed: summed.activitiesDaily,
    chart: topTwelve('clinic'),
  },
  {
    view: 'payment_requests',
    line: 'Payments that patients were asked for, with their links.',
    families: ['payment_request'],
    ...newestFirst('requested_at', 'delivery_id'),
    summed: summed.paymentRequests,
    chart: { ...amounts('net'), title: 'Amount requested per day' },
  },
];
