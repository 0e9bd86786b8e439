import { consentForm } from './consent-form.ts';
import type { EnvelopeOf, EnvelopeOfAny } from './envelope.ts';
import type { Family } from './family.ts';
import { receipt } from './receipt.ts';
import { reviewRequest } from './review-request.ts';

/** All event families. The routes, the union, the worker and the reports are derived from this list. */
export const families = [receipt, consentForm, reviewRequest] as const;

/** A callback (service-interface section 2). */
export type Envelope = EnvelopeOfAny<typeof families>;

/** A callback of any list of families. */
export type AnyEnvelope = EnvelopeOf<Family>;

export { envelopeSchema, publicEnvelopeFields } from './envelope.ts';
export { defineFamily, type Family, publicColumns } from './family.ts';
export { patientFields, thingIdOf, thingOf } from './thing.ts';
