import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Sends items in batches, at most one batch per interval. The first is sent at once; items added before the next batch
 * is due wait for it.
 *
 * @returns a function that adds items; it resolves once they are sent, and raises the error of `send`
 */
export function createBatcher<Item>(
  send: (items: Item[]) => Promise<void>,
  everyMs: number,
): (items: readonly Item[]) => Promise<void> {
  const pending: Item[] = [];
  let next: Promise<void> | undefined;
  let lastSent = Number.NEGATIVE_INFINITY;
  const sendWhenDue = async () => {
    const pause = lastSent + everyMs - performance.now();
    await (pause > 0 ? sleep(pause) : undefined);
    next = undefined;
    lastSent = performance.now();
    await send(pending.splice(0));
  };
  return (items) => {
    pending.push(...items);
    next ??= sendWhenDue();
    return next;
  };
}
