import { defineFamily } from './family.ts';
import { nested, notPersonal, optional, patientId, patientName, patientPhone, text } from './field.ts';

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
  key: 'order_id',
  people: { names: ['billing.name', 'patient.name'], phones: ['billing.phone'] },
  labels: { more: { state: 'Status' } },
  fields: {
    order_id: notPersonal(text),
    state: notPersonal(text),
    slot: optional(nested),
    doctor: optional(nested),
    billing: optional(nested),
    patient: optional(nested),
  },
  sample: {
    state: 'INITIATED',
    slot: { start: 1_700_000_000 },
    doctor: { name: 'Dr Asha Rao' },
    billing: { name: patientName.sample, phone: patientPhone.sample, address: 'Street 1' },
    patient: { id: patientId.sample, dob: '1990-01-01', gender: 'F' },
  },
});
