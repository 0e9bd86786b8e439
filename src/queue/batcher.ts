import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Sends items in batches, one batch every few milliseconds at most. The first is sent at once; those that come
 * before the next batch is due wait for it.
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
   * Resolves once the items were sent.
   *
   * @throws the error of their sending
   */
  add(items: readonly Item[]): Promise<void> {
    this.pending.push(...items);
    this.next ??= this.sendInTime();
    return this.next;
  }

  private async sendInTime(): Promise<void> {
    const pause = this.lastSent + this.everyMs - performance.now();
    await (pause > 0 ? sleep(pause) : undefined);
    this.next = undefined;
    this.lastSent = performance.now();
    await this.send(this.pending.splice(0));
  }
}
