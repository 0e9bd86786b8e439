import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../common/log.ts';
import { withTimeout } from '../../common/timeouts.ts';

export class StoreUnavailable extends Error {
  constructor(store: string, cause?: unknown) {
    super(`${store} is unavailable.`, { cause });
    this.name = 'StoreUnavailable';
  }
}

interface CircuitOptions {
  store: string;
  timeoutMs: number;
  /** Does what the store is needed for: a server that responds but rejects writes is unavailable. */
  probe: () => Promise<unknown>;
  /** The store is certainly unavailable. After any other error, a probe decides. */
  isOutage: (error: unknown) => boolean;
  log: Log;
}

export interface Circuit {
  /** Calls fail without reaching the store. */
  readonly isOpen: boolean;
  readonly unavailableSince: Date | undefined;
  lastError: () => unknown;
  /** @throws StoreUnavailable, or the call's own error where a probe succeeds after it: the call is at fault */
  run: <T>(call: () => Promise<T>) => Promise<T>;
  /** Whether the store is available: by a call or a probe of the last seconds. */
  check: () => Promise<boolean>;
  /** Probes the store after an error of work that does not go through `run`. @returns whether the store is unavailable */
  probeAfter: (error: unknown) => Promise<boolean>;
  stop: () => void;
}

/** While the store is unavailable. */
const probeEveryMs = 500;
/** A success that is older does not show that the store is available: a check probes. */
const recentMs = 10_000;

/**
 * A call that finds the store unavailable opens the circuit. Calls then fail at once, while a probe in the background detects
 * recovery: so one slow call, not one per request, detects an outage. A successful probe closes the circuit.
 */
export function createCircuit(options: CircuitOptions): Circuit {
  const { store, timeoutMs, isOutage, log } = options;
  const closing = new AbortController();
  /** Undefined: it is closed. */
  let since: Date | undefined;
  let probing: Promise<boolean> | undefined;
  let succeededAt = Number.NEGATIVE_INFINITY;
  let lastError: unknown;

  const limitTime = async <T>(call: () => Promise<T>) => {
    const result = await withTimeout(timeoutMs, call(), () => new StoreUnavailable(store));
    succeededAt = performance.now();
    return result;
  };

  const probeOnce = () =>
    limitTime(options.probe).then(
      () => true,
      (error) => {
        lastError = error;
        return false;
      },
    );

  const probe = (): Promise<boolean> => {
    probing ??= probeOnce().finally(() => {
      probing = undefined;
    });
    return probing;
  };

  const probeUntilAvailable = async () => {
    const { signal } = closing;
    do {
      await sleep(probeEveryMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) return;
    } while (!(await probe()));
    const seconds = Math.round((Date.now() - Number(since)) / 1000);
    since = undefined;
    log.warn({ store, seconds }, 'store available again');
  };

  const trip = (err: unknown) => {
    if (since || closing.signal.aborted) return;
    since = new Date();
    log.error({ err, store }, 'store unavailable');
    void probeUntilAvailable();
  };

  return {
    get isOpen() {
      return since !== undefined;
    },
    get unavailableSince() {
      return since;
    },
    lastError: () => lastError,
    run: async (call) => {
      if (since) throw new StoreUnavailable(store);
      try {
        return await limitTime(call);
      } catch (error) {
        if (error instanceof StoreUnavailable || isOutage(error)) trip(error);
        else {
          // One that began before the call failed proves nothing.
          await probing;
          if (await probe()) throw error;
          trip(error);
        }
        throw error instanceof StoreUnavailable ? error : new StoreUnavailable(store, error);
      }
    },
    check: async () => !since && (performance.now() - succeededAt < recentMs || probe()),
    probeAfter: async (error) => {
      if (!since && !(await probe())) trip(error);
      return since !== undefined;
    },
    stop: () => closing.abort(),
  };
}
