import { defineFamily } from './family.ts';
import { amount, idOf, notPersonal, text } from './field.ts';

/** Requests to a patient to pay; a request has no id of its own. */
export const paymentRequest = defineFamily({
  name: 'payment_request',
  events: { 'receipt_payment.requested': 'updated' },
  path: {
    default: ['/registered_url_for_receipt_payment_requested_events'],
  },
  table: 'payment_requests',
  headline: ['net_amount'],
  shown: {
    money: { net_amount: 'Asked for' },
    people: { patient_id: 'Patient id', doctor_id: 'Doctor' },
    more: { appointment_id: 'Appointment', url: 'Payment link' },
  },
  fields: {
    appointment_id: idOf('appointment'),
    doctor_id: notPersonal(text),
    patient_id: text,
    net_amount: amount,
    url: text,
  },
});
