import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../with-timeout.ts';

/** Raised at once while a store is known to be unavailable, and when it did not answer in time. */
export class StoreAway extends Error {
  constructor(store: string, cause?: unknown) {
    super(`${store} does not answer.`, { cause });
    this.name = 'StoreAway';
  }
}

export interface CircuitOptions {
  store: string;
  /** How long a call and a probe may take. */
  timeoutMs: number;
  /** Asks the store to do what it is needed for: a server that answers but cannot be written to is away. */
  probe: () => Promise<unknown>;
  /** Whether a call's error means that the store is unavailable. */
  isOutage: (error: unknown) => boolean;
  /** Told when an outage begins, with its cause, and when it is over. */
  onChange: (away: boolean, cause?: unknown) => void;
}

const shortestProbeMs = 200;
const longestProbeMs = 5_000;
const provenAfterMs = 5_000;

/**
 * One store, as all parts of a process see it.
 *
 * Once a call has found the store away, later calls fail at once, while a probe in the background finds out
 * when it is back: one late answer, not one for each request, is enough to notice. After a good probe calls are
 * let through again, but the outage counts as over only when one has succeeded, or when none has failed for some
 * seconds: a store that answers probes and fails at the work is one outage, with ever rarer probes, and not many.
 */
export class Circuit {
  private readonly options: CircuitOptions;
  private readonly events = new EventEmitter().setMaxListeners(0);
  private readonly closing = new AbortController();
  private blocked = false;
  private away = false;
  private probing: Promise<boolean> | undefined;
  private pauseMs = shortestProbeMs;
  private proving: NodeJS.Timeout | undefined;

  constructor(options: CircuitOptions) {
    this.options = options;
  }

  /** Whether calls fail without asking the store. */
  get isOpen(): boolean {
    return this.blocked;
  }

  /** @throws StoreAway, or the call's own error where that is no outage */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const { store, isOutage } = this.options;
    if (this.blocked) throw new StoreAway(store);
    try {
      const result = await this.inTime(call);
      if (this.away && !this.blocked) this.end();
      return result;
    } catch (error) {
      if (!(error instanceof StoreAway) && !isOutage(error)) throw error;
      this.open(error);
      throw error instanceof StoreAway ? error : new StoreAway(store, error);
    }
  }

  /**
   * Looks at the store because something that does not go through `run` has met an error.
   *
   * @returns whether the store is unavailable
   */
  async suspect(cause: unknown): Promise<boolean> {
    if (!this.blocked && !(await this.answers())) this.open(cause);
    return this.blocked;
  }

  /** Whether the store does what it is needed for now. */
  async answers(): Promise<boolean> {
    this.probing ??= this.inTime(this.options.probe)
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        this.probing = undefined;
      });
    return this.probing;
  }

  /**
   * Resolves once calls are let through.
   *
   * @throws AbortError
   */
  async whenClosed(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.blocked) await once(this.events, 'closed', { signal });
  }

  /**
   * Resolves once calls are not let through.
   *
   * @throws AbortError
   */
  async whenOpen(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.blocked) await once(this.events, 'open', { signal });
  }

  /** Ends the probing. */
  close(): void {
    this.closing.abort();
    clearTimeout(this.proving);
  }

  private inTime<T>(call: () => Promise<T>): Promise<T> {
    const { store, timeoutMs } = this.options;
    return withTimeout(timeoutMs, call(), () => new StoreAway(store));
  }

  private open(cause: unknown): void {
    if (this.blocked || this.closing.signal.aborted) return;
    clearTimeout(this.proving);
    this.blocked = true;
    this.pauseMs = this.away ? Math.min(this.pauseMs * 2, longestProbeMs) : shortestProbeMs;
    if (!this.away) this.options.onChange(true, cause);
    this.away = true;
    this.events.emit('open');
    void this.probeUntilBack();
  }

  private async probeUntilBack(): Promise<void> {
    const { signal } = this.closing;
    do {
      await sleep(this.pauseMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) return;
    } while (!(await this.answers()));
    if (signal.aborted) return;
    this.blocked = false;
    this.proving = setTimeout(() => this.end(), provenAfterMs).unref();
    this.events.emit('closed');
  }

  private end(): void {
    clearTimeout(this.proving);
    this.away = false;
    this.options.onChange(false);
  }
}
