import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Sends items in batches, at most one batch per interval. The first is sent at once; items added before the next batch
 * is due wait for it.
 */
export class Batcher<Item> {
  private readonly send: (items: Item[]) => Promise<void>;
  private readonly everyMs: number;
  private pending: Item[] = [];
  private next: Promise<void> | undefined;
  private lastSent = Number.NEGATIVE_INFINITY;

  constructor(send: (items: Item[]) => Promise<void>, everyMs: number) {
    this.send = send;
    this.everyMs = everyMs;
  }

  /**
   * Resolves once the items are sent.
   *
   * @throws the error of `send`
   */
  add(items: readonly Item[]): Promise<void> {
    this.pending.push(...items);
    this.next ??= this.sendWhenDue();
    return this.next;
  }

  private async sendWhenDue(): Promise<void> {
    const pause = this.lastSent + this.everyMs - performance.now();
    await (pause > 0 ? sleep(pause) : undefined);
    this.next = undefined;
    this.lastSent = performance.now();
    await this.send(this.pending.splice(0));
  }
}
