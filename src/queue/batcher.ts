import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Lets what comes in quick succession go together. The first is sent at once; what comes within the next
 * milliseconds is sent when they are over. So nothing waits while little comes, and however much comes there
 * are only so many sendings a second.
 */
export class Gathering<Item> {
  private readonly send: (items: Item[]) => Promise<void>;
  private readonly everyMs: number;
  private gathered: Item[] = [];
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
    this.gathered.push(...items);
    this.next ??= this.sendInTime();
    return this.next;
  }

  private async sendInTime(): Promise<void> {
    const pause = this.lastSent + this.everyMs - performance.now();
    await (pause > 0 ? sleep(pause) : undefined);
    this.next = undefined;
    this.lastSent = performance.now();
    await this.send(this.gathered.splice(0));
  }
}
