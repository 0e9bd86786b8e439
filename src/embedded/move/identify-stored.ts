import type { Delivery } from '../../callbacks/delivery.ts';
import { type Family, takesEveryEvent } from '../../callbacks/families/family.ts';
import { createReadCallback } from '../../callbacks/read-callback.ts';
import { isReduced } from '../../callbacks/reduce.ts';
import { InvalidCallback, Rejection } from '../../callbacks/rejection.ts';
import type { StoredCallback } from './copy.ts';

const dayMs = 86_400_000;

/** Creates the function that reads callbacks of a source by the current families and rules, or says why these refuse one. */
export function createIdentify(families: readonly Family[]) {
  const readCallback = createReadCallback(families, true);
  const other = families.find(takesEveryEvent);
  const read = ({ id, body, receivedAt, version }: StoredCallback): Delivery => {
    // An id is that of the body as received, of which a secret was a part.
    const isId = version !== undefined || body.includes('"[redacted]"');
    const { delivery } = readCallback(body, { expected: other, receivedAt, id: isId ? id : undefined });
    if (delivery.eventMs > receivedAt / 1000 + dayMs)
      throw InvalidCallback.at('/event_time', 'must not be more than a day after the arrival');
    return delivery;
  };
  return (stored: StoredCallback): Delivery | Rejection => {
    try {
      // What an erasure has left of it does not say any more what it was about.
      return isDelivery(stored) && isReduced(stored) ? stored : read(stored);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      return isDelivery(stored) ? stored : error;
    }
  };
}

/** Callbacks of version 2 were read when they came in. */
const isDelivery = (stored: StoredCallback): stored is StoredCallback & Delivery =>
  stored.version !== undefined;
