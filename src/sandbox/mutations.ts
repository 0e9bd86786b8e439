import { type Callback, callbackOf, type Envelope, type Family } from './history.ts';

const year9999 = 253_402_214_400_000; // in milliseconds

type Breakage = (callback: Callback) => Callback;

const otherFamily: Record<Family, Family> = {
  receipt: 'consent_form',
  consent_form: 'review_request',
  review_request: 'receipt',
};

/**
 * The ways in which a callback is broken on purpose. The first is not JSON (a receiver that follows the
 * problem table answers 400), the others do not fit section 2 or the path (422). Each keeps enough of its
 * callback that two broken ones differ.
 */
export const breakages: readonly Breakage[] = [
  (callback) => ({ ...callback, body: callback.body.slice(0, -1), broken: 'cut off' }),
  changed('no business_id', ({ business_id: _, ...rest }) => rest),
  changed('unknown event', (envelope) => ({ ...envelope, event: 'receipt.exploded' })),
  changed('event_time is text', (envelope) => ({ ...envelope, event_time: `at ${envelope.event_time}` })),
  changed('event_time lies ahead', (envelope) => ({ ...envelope, event_time: year9999 })),
  changed('data is a list', (envelope) => ({ ...envelope, data: [envelope.data] })),
  (callback) => ({ ...callback, family: otherFamily[callback.family], broken: "another family's path" }),
];

function changed(broken: string, change: (envelope: Envelope) => object): Breakage {
  return (callback) => {
    const { number, family, envelope } = callback;
    return { ...callbackOf(number, family, envelope), body: JSON.stringify(change(envelope)), broken };
  };
}
