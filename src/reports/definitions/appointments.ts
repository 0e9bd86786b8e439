import type { Report } from '../report.ts';
import * as summed from '../summed-rows.ts';
import { amounts, byBusiness, counts, daily, newestFirst, versions } from './parts.ts';

export const appointments: readonly Report[] = [
  {
    view: 'appointments_daily',
    line: 'How many were booked, completed, cancelled or missed, day by day.',
    families: ['appointment'],
    ...daily,
    summed: summed.appointmentsDaily,
    chart: {
      title: 'Appointments per day by what became of them',
      stacked: true,
      series: counts(
        'completed',
        'cancelled',
        'no_show',
        'rescheduled',
        'aborted',
        'booked',
        'ongoing',
        'other',
      ),
    },
  },
  {
    view: 'appointments',
    line: 'Every appointment and what became of it.',
    families: ['appointment'],
    ...byBusiness('booked_at', 'appointment_id'),
    summed: summed.appointments,
    chart: { title: 'Appointments per status', by: 'state' },
  },
  {
    view: 'appointment_payments',
    line: 'What was billed and paid for each appointment.',
    details: ['payment_requests'],
    families: ['appointment', 'receipt', 'payment_request'],
    ...byBusiness('day', 'appointment_id'),
    summed: summed.appointmentPayments,
    chart: amounts('billed', 'requested', 'paid', 'due'),
  },
  {
    view: 'visits',
    line: 'An appointment with all that it was rescheduled to, and its receipts.',
    details: ['booked_at', 'first_appointment_id', 'reschedules', 'receipts'],
    families: ['appointment', 'receipt'],
    ...byBusiness('first_booked_at', 'visit_id'),
    counted: 2_000,
    chart: { title: 'Visits per state', by: 'state' },
  },
  {
    view: 'bookings',
    line: 'Requests for an appointment, and what became of them.',
    families: ['booking'],
    ...newestFirst('event_time', 'booking_id'),
    chart: { by: 'state' },
  },
  {
    view: 'appointment_history',
    line: 'Each change of an appointment.',
    details: ['booked_at'],
    families: ['appointment'],
    ...versions('appointment_id'),
    withoutTotals: true,
  },
  {
    view: 'notices',
    line: 'Reminders, links and follow-ups that were sent to patients and doctors.',
    families: ['notice'],
    ...newestFirst('event_time', 'delivery_id'),
    chart: { by: 'event' },
  },
];
