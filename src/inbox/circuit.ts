import { setTimeout as sleep } from 'node:timers/promises';

/** Raised at once while a store is known to be away, and when it did not answer in time. */
export class StoreAway extends Error {
  constructor(store: string, cause?: unknown) {
    super(`${store} does not answer.`, { cause });
    this.name = 'StoreAway';
  }
}

export interface CircuitOptions {
  store: string;
  /** How long an answer may take. */
  timeoutMs: number;
  /** Asks the store whether it is back. */
  probe: () => Promise<unknown>;
  /** Whether an error says that the store is away. */
  isOutage: (error: unknown) => boolean;
  onChange: (away: boolean, cause?: unknown) => void;
}

const probeEveryMs = 200;

/**
 * Stands before a store. Once a call has found the store away, those after it are told at once, while a
 * probe in the background finds out when it is back: nobody waits for a store that is gone, and it takes
 * one late answer, not one for each request, to notice.
 */
export class Circuit {
  private readonly options: CircuitOptions;
  private away = false;
  private readonly closing = new AbortController();

  constructor(options: CircuitOptions) {
    this.options = options;
  }

  /** @throws StoreAway, or the call's own error */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const { store, isOutage } = this.options;
    if (this.away) throw new StoreAway(store);
    try {
      return await this.inTime(call);
    } catch (error) {
      if (!(error instanceof StoreAway) && !isOutage(error)) throw error;
      this.open(error);
      throw error instanceof StoreAway ? error : new StoreAway(store, error);
    }
  }

  close(): void {
    this.closing.abort();
  }

  private async inTime<T>(call: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new StoreAway(this.options.store)), this.options.timeoutMs);
    });
    try {
      return await Promise.race([call(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  private open(cause: unknown): void {
    if (this.away) return;
    this.away = true;
    this.options.onChange(true, cause);
    void this.probeUntilBack();
  }

  private async probeUntilBack(): Promise<void> {
    const { signal } = this.closing;
    for (;;) {
      await sleep(probeEveryMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) return;
      const back = await this.inTime(this.options.probe).then(
        () => true,
        () => false,
      );
      if (!back) continue;
      this.away = false;
      this.options.onChange(false);
      return;
    }
  }
}
