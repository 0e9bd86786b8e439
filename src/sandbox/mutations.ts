import { type Callback, callbackOf, type Envelope, type Family } from './history.ts';

const year9999 = 253_402_214_400_000; // in milliseconds

type Mutation = (callback: Callback) => Callback;

const otherFamily: Record<Family, Family> = {
  receipt: 'consent_form',
  consent_form: 'review_request',
  review_request: 'receipt',
};

/**
 * Mutations that make a callback invalid. The result of the first is not JSON (400), the results of the others do not
 * match section 2 or the path (422). No two callbacks have the same result.
 */
export const mutations: readonly Mutation[] = [
  (callback) => ({ ...callback, body: callback.body.slice(0, -1), invalid: 'truncated' }),
  changed('no business_id', ({ business_id: _, ...rest }) => rest),
  changed('unknown event', (envelope) => ({ ...envelope, event: 'receipt.exploded' })),
  changed('event_time is text', (envelope) => ({ ...envelope, event_time: `at ${envelope.event_time}` })),
  changed('event_time in the future', (envelope) => ({ ...envelope, event_time: year9999 })),
  changed('data is a list', (envelope) => ({ ...envelope, data: [envelope.data] })),
  (callback) => ({ ...callback, family: otherFamily[callback.family], invalid: "another family's path" }),
];

function changed(invalid: string, change: (envelope: Envelope) => object): Mutation {
  return (callback) => {
    const { number, family, envelope } = callback;
    return { ...callbackOf(number, family, envelope), body: JSON.stringify(change(envelope)), invalid };
  };
}
