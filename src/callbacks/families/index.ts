import { admission, admissionClearance, admissionEstimate, admissionEvent } from './admission.ts';
import { appointment } from './appointment.ts';
import { booking } from './booking.ts';
import { consentForm } from './consent-form.ts';
import { careContext, healthAccount } from './health-account.ts';
import { notice } from './notice.ts';
import { other } from './other.ts';
import { paymentRequest } from './payment-request.ts';
import { practiceChange } from './practice-change.ts';
import { prescription } from './prescription.ts';
import { receipt } from './receipt.ts';
import { reviewRequest } from './review-request.ts';

/** The documented families. Routes, the union, tables and reports follow from this list. */
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
