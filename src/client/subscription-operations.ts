import { z } from 'zod';
import { callbackEvents } from '../callbacks/families/family.ts';
import { families } from '../callbacks/families/index.ts';
import { otherEvents } from '../callbacks/families/other.ts';
import { id, type Operation, orEmpty, text } from './operation.ts';

// From the platform's public documentation, which shows few types: only the id of a subscription is required.

const unknown = z.unknown().optional().describe('Its type is not shown');
const notEmpty = z.string().min(1);

/** The documented events. The platform adds others, so that requests may name any. */
export const eventNames: readonly string[] = [...families.flatMap(callbackEvents), ...otherEvents];

export const subscription = z.object({
  id: id.describe('Its type is not shown'),
  event_names: z.array(z.string()).nullish(),
  endpoint: text,
  signing_key: text.describe('Secret: signs the callbacks'),
  client_id: text,
  protocol: text,
  created_at: unknown,
  updated_at: unknown,
  created_by: unknown,
  updated_by: unknown,
});

const ofSubscriptions = {
  group: 'subscriptions',
  path: 'notification/v1/connect/webhook/subscriptions',
} as const;

export default {
  /** Retried like the search. The response contains the signing keys: do not log it. */
  listSubscriptions: {
    ...ofSubscriptions,
    method: 'GET',
    // Null counts as no subscriptions.
    response: z.object({ data: z.array(subscription).nullable().transform(orEmpty), msg: unknown }),
  },
  /** Not retried once it may have reached the platform. Rejected (400) if the endpoint has a subscription already. */
  createSubscription: {
    ...ofSubscriptions,
    method: 'POST',
    // Without a signing key, callbacks are not signed.
    request: z.strictObject({
      endpoint: notEmpty.describe('Where callbacks are sent to; at most one subscription each'),
      event_names: z.array(notEmpty).min(1).optional(),
      signing_key: notEmpty.optional().describe('Secret: signs the callbacks'),
      protocol: notEmpty.optional().describe('http, https, …'),
    }),
    response: z.object({ id: id.nullish(), status: unknown }),
  },
  /** Retried like the search. Rejected (404) if there is none, unless an attempt without a response may have deleted it. */
  deleteSubscription: {
    ...ofSubscriptions,
    method: 'DELETE',
    path: `${ofSubscriptions.path}/{id}`,
    request: z.strictObject({
      // Not . or ..: in a path these name another resource, even if percent-encoded.
      id: z.string().regex(/^(?!\.{1,2}$)\P{Cs}+$/u, 'must be the id of a subscription'),
    }),
  },
} as const satisfies Record<string, Operation>;

export type Subscription = z.output<typeof subscription>;
