import type { Report } from '../report.ts';
import { byBusiness, daily, newestFirst } from './parts.ts';

export const appointments: readonly Report[] = [
  {
    view: 'appointments_daily',
    line: 'How many were booked, completed, cancelled or missed, day by day.',
    families: ['appointment'],
    ...daily,
  },
  {
    view: 'schedule',
    line: 'Who comes when, today and on the days to come.',
    details: ['booked_at'],
    families: ['appointment'],
    order: 'starts_at, business_id, appointment_id',
    range: 'next_7_days',
    hasDaysToCome: true,
  },
  {
    view: 'appointments',
    line: 'Every appointment and what became of it.',
    families: ['appointment'],
    ...byBusiness('booked_at', 'appointment_id'),
  },
  {
    view: 'bookings',
    line: 'Requests for an appointment, and what became of them.',
    families: ['booking'],
    ...newestFirst('event_time', 'booking_id'),
  },
  {
    view: 'notices',
    line: 'Reminders, links and follow-ups that were sent to patients and doctors.',
    families: ['notice'],
    ...newestFirst('event_time', 'delivery_id'),
  },
];
