import { defineFamily } from './family.ts';
import { nested, notPersonal, optional, text } from './field.ts';

/** Bookings through a network for health services: an order, and the person who pays. */
export const booking = defineFamily({
  name: 'booking',
  events: {
    'booking.init': 'created',
    'booking.confirm': 'updated',
    'booking.status': 'updated',
    'booking.cancel': 'updated',
  },
  // The platform documents no address for these events.
  path: { default: ['/registered_url_for_booking_events'] },
  table: 'bookings',
  identifiedBy: 'order_id',
  headline: ['state'],
  people: { names: ['billing.name', 'patient.name'], phones: ['billing.phone'] },
  shown: { more: { state: 'Status' } },
  fields: {
    order_id: notPersonal(text),
    state: notPersonal(text),
    slot: optional(nested),
    doctor: optional(nested),
    billing: optional(nested),
    patient: optional(nested),
  },
});
