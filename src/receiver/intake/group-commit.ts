import { StoreUnavailable } from '../store/circuit.ts';

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

interface GroupCommitOptions<Item, Result> {
  /** Commits all items or, when it throws, none. @returns a result for each, in order */
  commit: (items: Item[]) => Promise<Result[]>;
  /** Default: they have no weight. */
  weigh?: (item: Item) => number;
  maxWeight?: number;
  maxItems: number;
  /** Beyond these, `append` throws Overloaded. */
  maxWaiting?: number;
  maxWaitingWeight?: number;
}

interface GroupCommit<Item, Result> {
  /** @throws Overloaded; the error of the item's commit */
  append: (item: Item) => Promise<Result>;
  drained: () => Promise<void>;
}

export class Overloaded extends Error {
  constructor() {
    super('Too many deliveries wait for the store.');
    this.name = 'Overloaded';
  }
}

/**
 * Items that arrive together share a commit. A commit starts as soon as the previous one returns, so a lone item never waits, and
 * commits grow with the load. A commit that fails is split in halves until the item at fault is alone, and only that is rejected.
 */
export function createGroupCommit<Item, Result>(
  options: GroupCommitOptions<Item, Result>,
): GroupCommit<Item, Result> {
  const {
    weigh = () => 0,
    maxWeight = 1,
    maxWaitingWeight = 1,
    maxWaiting = Number.POSITIVE_INFINITY,
  } = options;
  const waiting: Waiting<Item, Result>[] = [];
  let waitingWeight = 0;
  let running: Promise<void> | undefined;

  const next = () => {
    let weight = 0;
    let count = 0;
    while (count < waiting.length && count < options.maxItems) {
      weight += weigh(waiting[count]!.item);
      if (weight > maxWeight && count > 0) break;
      count += 1;
    }
    const batch = waiting.splice(0, count);
    for (const { item } of batch) waitingWeight -= weigh(item);
    return batch;
  };

  const commit = async (batch: Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await options.commit(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      // A circuit turns every fault of the store into StoreUnavailable: what else there is, one item has caused.
      if (batch.length > 1 && !(error instanceof StoreUnavailable)) {
        const middle = batch.length >> 1;
        await commit(batch.slice(0, middle));
        await commit(batch.slice(middle));
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  };

  const run = async () => {
    // Items of the same turn of the event loop share a commit.
    await new Promise(setImmediate);
    while (waiting.length > 0) await commit(next());
    running = undefined;
  };

  return {
    append: (item) => {
      if (waiting.length >= maxWaiting || waitingWeight >= maxWaitingWeight) {
        return Promise.reject(new Overloaded());
      }
      waitingWeight += weigh(item);
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        running ??= run();
      });
    },
    drained: async () => {
      while (running) await running;
    },
  };
}
