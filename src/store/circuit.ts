import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../common/with-timeout.ts';

/** Raised when a store fails or exceeds its timeout, and for every call while its circuit is open. */
export class StoreUnavailable extends Error {
  constructor(store: string, cause?: unknown) {
    super(`${store} is unavailable.`, { cause });
    this.name = 'StoreUnavailable';
  }
}

export interface CircuitOptions {
  store: string;
  /** The time limit of a call, and of a probe. */
  timeoutMs: number;
  /** Does what the store is needed for: a server that responds but rejects writes is unavailable. */
  probe: () => Promise<unknown>;
  /** A cheaper probe that leaves no trace in the store, for whoever only wants to know. Default: `probe`. */
  check?: () => Promise<unknown>;
  /** Whether a call's error certainly means that the store is unavailable. After any other, a probe decides. */
  isOutage: (error: unknown) => boolean;
  /** Called when an outage begins, with its cause, and when it ends. */
  onChange: (unavailable: boolean, cause?: unknown) => void;
}

const minPauseMs = 200;
const maxPauseMs = 5_000;
/** Failures within this time belong to the same outage. */
export const stableAfterMs = 5_000;

/**
 * The circuit breaker of one store, shared by all parts of a process.
 *
 * A call that finds the store unavailable opens the circuit. Calls then fail at once, while a probe in the background
 * detects recovery: so one slow call, not one per request, detects an outage. A successful probe closes the circuit.
 * The outage ends when a call succeeds, or when none has failed for some seconds: a store that passes probes and fails
 * at the work is one outage with growing intervals between probes, not many.
 */
export class Circuit {
  private readonly options: CircuitOptions;
  private readonly events = new EventEmitter().setMaxListeners(0);
  private readonly closing = new AbortController();
  private open = false;
  private outage = false;
  private probing: Promise<boolean> | undefined;
  private pauseMs = minPauseMs;
  private stabilizing: NodeJS.Timeout | undefined;

  constructor(options: CircuitOptions) {
    this.options = options;
  }

  /** Whether calls fail without reaching the store. */
  get isOpen(): boolean {
    return this.open;
  }

  /** @throws StoreUnavailable, or the call's own error where a probe succeeds after it: the call is at fault */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const { store, isOutage } = this.options;
    if (this.open) throw new StoreUnavailable(store);
    try {
      const result = await this.limitTime(call);
      if (this.outage && !this.open) this.endOutage();
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable || isOutage(error)) this.trip(error);
      else {
        // One that began before the call failed proves nothing.
        await this.probing;
        if (await this.probe()) throw error;
        this.trip(error);
      }
      throw error instanceof StoreUnavailable ? error : new StoreUnavailable(store, error);
    }
  }

  /** @returns whether the store is available, as far as the cheaper probe tells */
  async check(): Promise<boolean> {
    const { check } = this.options;
    if (this.open || !check) return !this.open && this.probe();
    return this.limitTime(check).then(
      () => true,
      () => false,
    );
  }

  /**
   * Probes the store after an error of work that does not go through `run`.
   *
   * @returns whether the store is unavailable
   */
  async probeAfter(error: unknown): Promise<boolean> {
    if (!this.open && !(await this.probe())) this.trip(error);
    return this.open;
  }

  /** @returns whether the store is available */
  async probe(): Promise<boolean> {
    this.probing ??= this.limitTime(this.options.probe)
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
   * Resolves once the circuit is closed.
   *
   * @throws AbortError
   */
  async whenClosed(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.open) await once(this.events, 'closed', { signal });
  }

  /** Stops probing. */
  stop(): void {
    this.closing.abort();
    clearTimeout(this.stabilizing);
  }

  private limitTime<T>(call: () => Promise<T>): Promise<T> {
    const { store, timeoutMs } = this.options;
    return withTimeout(timeoutMs, call(), () => new StoreUnavailable(store));
  }

  private trip(cause: unknown): void {
    if (this.open || this.closing.signal.aborted) return;
    clearTimeout(this.stabilizing);
    this.open = true;
    this.pauseMs = this.outage ? Math.min(this.pauseMs * 2, maxPauseMs) : minPauseMs;
    if (!this.outage) this.options.onChange(true, cause);
    this.outage = true;
    void this.probeUntilAvailable();
  }

  private async probeUntilAvailable(): Promise<void> {
    const { signal } = this.closing;
    do {
      await sleep(this.pauseMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) return;
    } while (!(await this.probe()));
    if (signal.aborted) return;
    this.open = false;
    this.stabilizing = setTimeout(() => this.endOutage(), stableAfterMs).unref();
    this.events.emit('closed');
  }

  private endOutage(): void {
    clearTimeout(this.stabilizing);
    this.outage = false;
    this.options.onChange(false);
  }
}
