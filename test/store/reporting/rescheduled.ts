import { appointmentCallback } from '../../support/callbacks.ts';
import { seconds } from '../../support/deliveries.ts';

// Midnight in India is 18:30 UTC.
export const midnight = seconds('2024-03-01T18:30:00Z');
export const day = 86_400;

/** A version of an appointment of b1. */
export const appointment = (
  appointment_id: string,
  daysLater: number,
  data: object = {},
  event_time?: number,
) =>
  appointmentCallback({
    event: 'appointment.updated',
    business_id: 'b1',
    event_time: event_time ?? midnight + daysLater * day,
    data: {
      appointment_id,
      created_at: midnight + daysLater * day,
      prev_aids: undefined,
      next_aid: undefined,
      ...data,
    },
  });
