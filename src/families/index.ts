import { admission, admissionClearance, admissionEstimate, admissionEvent } from './admission.ts';
import { appointment } from './appointment.ts';
import { booking } from './booking.ts';
import { consentForm } from './consent-form.ts';
import type { EnvelopeOf, EnvelopeOfAny } from './envelope.ts';
import type { Family } from './family.ts';
import { careContext, healthAccount } from './health-account.ts';
import { notice } from './notice.ts';
import { other } from './other.ts';
import { paymentRequest } from './payment-request.ts';
import { practiceChange } from './practice-change.ts';
import { prescription } from './prescription.ts';
import { receipt } from './receipt.ts';
import { reviewRequest } from './review-request.ts';

/** All event families. The routes, the union, the worker and the reports are derived from this list. */
export const families = [
  receipt,
  consentForm,
  reviewRequest,
  appointment,
  prescription,
  paymentRequest,
  practiceChange,
  admission,
  admissionEvent,
  admissionClearance,
  admissionEstimate,
  notice,
  healthAccount,
  careContext,
  booking,
  other,
] as const;

/** A callback (service-interface section 2). */
export type Envelope = EnvelopeOfAny<typeof families>;

/** A callback of any list of families. */
export type AnyEnvelope = EnvelopeOf<Family>;

export { admissionOf } from './admission.ts';
export { envelopeSchema, otherEnvelope, publicEnvelopeFields } from './envelope.ts';
export * from './family.ts';
export * from './labels.ts';
export { other, userDelete } from './other.ts';
export * from './patients.ts';
export { namesInData, readField, readKey } from './sql.ts';
export * from './sums.ts';
