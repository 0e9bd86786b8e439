interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface GroupCommitOptions<Item, Result> {
  /** Commits all items or, when it throws, none; returns a result for each, in order. */
  commit: (items: Item[]) => Promise<Result[]>;
  /** Whether one of the items caused an error of `commit`. */
  isFaultOfAnItem: (error: unknown) => boolean;
  /** The weight of an item; limits of one commit. */
  weigh: (item: Item) => number;
  maxWeight: number;
  maxItems: number;
  /** Limits of the waiting items; beyond them, `append` raises Overloaded. */
  maxWaiting: number;
  maxWaitingWeight: number;
}

/** Raised when too many items wait. */
export class Overloaded extends Error {
  constructor() {
    super('Too many deliveries wait for the store.');
    this.name = 'Overloaded';
  }
}

/**
 * Group commit: items that arrive together share a commit. A commit starts as soon as the previous one returns,
 * so a lone item never waits, and commits grow with the load.
 *
 * Where one item makes a commit fail, the commit is split in halves until that item is alone: only that item is
 * rejected, the others are committed.
 */
export class GroupCommit<Item, Result> {
  private readonly options: GroupCommitOptions<Item, Result>;
  private waiting: Waiting<Item, Result>[] = [];
  private waitingWeight = 0;
  private running: Promise<void> | undefined;

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.options = options;
  }

  /** Resolves once the item is committed. @throws Overloaded; or the error of the item's commit */
  append(item: Item): Promise<Result> {
    const { maxWaiting, maxWaitingWeight, weigh } = this.options;
    if (this.waiting.length >= maxWaiting || this.waitingWeight >= maxWaitingWeight) {
      return Promise.reject(new Overloaded());
    }
    this.waitingWeight += weigh(item);
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** Resolves once no item waits or is being committed. */
  async drained(): Promise<void> {
    while (this.running) await this.running;
  }

  private async run(): Promise<void> {
    // Items of the same turn of the event loop share a commit.
    await new Promise(setImmediate);
    while (this.waiting.length > 0) await this.commit(this.next());
    this.running = undefined;
  }

  private next(): Waiting<Item, Result>[] {
    const { weigh, maxWeight, maxItems } = this.options;
    let weight = 0;
    let count = 0;
    while (count < this.waiting.length && count < maxItems) {
      weight += weigh(this.waiting[count]!.item);
      if (weight > maxWeight && count > 0) break;
      count += 1;
    }
    const batch = this.waiting.splice(0, count);
    for (const { item } of batch) this.waitingWeight -= weigh(item);
    return batch;
  }

  private async commit(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.options.commit(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      if (batch.length > 1 && this.options.isFaultOfAnItem(error)) {
        const middle = batch.length >> 1;
        await this.commit(batch.slice(0, middle));
        await this.commit(batch.slice(middle));
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}
