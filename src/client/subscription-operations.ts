import { z } from 'zod';
import { callbackEvents } from '../callbacks/families/family.ts';
import { families } from '../callbacks/families/index.ts';
import { id, type Operation, orEmpty, text, type WithRaw } from './operation.ts';

// From the platform's public documentation, which shows few types: only the id of a subscription is required.

const unknown = z.unknown().optional().describe('Its type is not shown');
const notEmpty = z.string().min(1);

/** The documented events. The platform adds others, so that requests may name any. */
export const eventNames: readonly string[] = families.flatMap(callbackEvents);

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

/** Null counts as no subscriptions. */
export const listSubscriptionsResponse = z.object({
  data: z.array(subscription).nullable().transform(orEmpty),
  msg: unknown,
});

/** Without a signing key, callbacks are not signed. */
export const createSubscriptionRequest = z.strictObject({
  endpoint: notEmpty.describe('Where callbacks are sent to; at most one subscription each'),
  event_names: z.array(notEmpty).min(1).optional(),
  signing_key: notEmpty.optional().describe('Secret: signs the callbacks'),
  protocol: notEmpty.optional().describe('http, https, …'),
});

export const createSubscriptionResponse = z.object({ id: id.nullish(), status: unknown });

export const deleteSubscriptionRequest = z.strictObject({
  // Not . or ..: in a path these name another resource, even if percent-encoded.
  id: z.string().regex(/^(?!\.{1,2}$)\P{Cs}+$/u, 'must be the id of a subscription'),
});

const ofSubscriptions = {
  group: 'subscriptions',
  path: 'notification/v1/connect/webhook/subscriptions',
} as const;

export default {
  /** Retried like the search. The response contains the signing keys: do not log it. */
  listSubscriptions: { ...ofSubscriptions, method: 'GET', response: listSubscriptionsResponse },
  /** Not retried once it may have reached the platform. Rejected (400) if the endpoint has a subscription already. */
  createSubscription: {
    ...ofSubscriptions,
    method: 'POST',
    request: createSubscriptionRequest,
    response: createSubscriptionResponse,
  },
  /** Retried like the search. Rejected (404) if there is none, unless an attempt without a response may have deleted it. */
  deleteSubscription: {
    ...ofSubscriptions,
    method: 'DELETE',
    path: `${ofSubscriptions.path}/{id}`,
    request: deleteSubscriptionRequest,
  },
} as const satisfies Record<string, Operation>;

export type Subscription = z.output<typeof subscription>;
export type ListSubscriptionsResponse = WithRaw<z.output<typeof listSubscriptionsResponse>>;
export type CreateSubscriptionRequest = z.input<typeof createSubscriptionRequest>;
export type CreateSubscriptionResponse = WithRaw<z.output<typeof createSubscriptionResponse>>;
export type DeleteSubscriptionRequest = z.input<typeof deleteSubscriptionRequest>;
