import { consentForm } from './consent-form.js';
import type { EnvelopeOf, EnvelopeOfAny } from './envelope.js';
import type { Family } from './family.js';
import { receipt } from './receipt.js';
import { reviewRequest } from './review-request.js';

/** Every event family that is taken in. The routes, the union, the worker and the reports follow from it. */
export const families = [receipt, consentForm, reviewRequest] as const;

/** A callback (service-interface section 2). */
export type Envelope = EnvelopeOfAny<typeof families>;

/** A callback of whatever families there are. */
export type AnyEnvelope = EnvelopeOf<Family>;

export { envelopeSchema } from './envelope.js';
export { defineFamily, type Family } from './family.js';
