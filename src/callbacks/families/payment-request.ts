import { defineFamily } from './family.ts';
import { amount, doctorId, idOf, patientId, text } from './field.ts';

/** Requests to a patient to pay; a request has no id of its own. */
export const paymentRequest = defineFamily({
  name: 'payment_request',
  events: { 'receipt_payment.requested': 'updated' },
  path: { default: ['/registered_url_for_receipt_payment_requested_events'] },
  table: 'payment_requests',
  labels: { money: { net_amount: 'Requested' }, more: { url: 'Payment link' } },
  fields: {
    appointment_id: idOf('appointment'),
    doctor_id: doctorId,
    patient_id: patientId,
    net_amount: amount,
    url: text,
  },
});
