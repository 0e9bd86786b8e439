import { withTimeout } from '../../common/with-timeout.ts';
import type { Readiness } from './app.ts';

/** What /readyz tells of one thing; an error is a failure, and only the message of a `NotReady` is told. */
export interface ReadyCheck {
  name: string;
  /** @returns the state, in words */
  run: () => Promise<string>;
  /** Whether a callback can be taken while it succeeds. */
  takesCallbacks?: boolean;
}

export class NotReady extends Error {}

const sharedMs = 1_000;

/**
 * Runs the checks at once, and one that takes too long has failed. They run once at a time and a second apart at least:
 * callers in between share the result.
 */
export function createReady(checks: readonly ReadyCheck[], timeoutMs: number): () => Promise<Readiness> {
  let last: Promise<Readiness> | undefined;

  const run = async ({ name, run: check, takesCallbacks = false }: ReadyCheck) => {
    try {
      return { name, takesCallbacks, status: 'ok' as const, detail: await withTimeout(timeoutMs, check()) };
    } catch (error) {
      const detail = error instanceof NotReady ? error.message : 'does not respond';
      return { name, takesCallbacks, status: 'fail' as const, detail };
    }
  };
  const runAll = async (): Promise<Readiness> => {
    const results = await Promise.all(checks.map(run));
    const ready = results.some(({ takesCallbacks, status }) => takesCallbacks && status === 'ok');
    return { ready, checks: results };
  };

  return () => {
    last ??= runAll().finally(() => {
      setTimeout(() => {
        last = undefined;
      }, sharedMs).unref();
    });
    return last;
  };
}
