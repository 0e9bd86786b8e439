import type { Log } from '../common/log.ts';
import { type Channel, type Message, NotSent } from '../operations/channels.ts';

const maxRetryMs = 60 * 60 * 1000;

/**
 * Creates a function that sends a message, and tells whether the channel has accepted it. After a failure it does not try for
 * `retryMs`, which doubles up to an hour.
 */
export function createSend({ name, send }: Channel, retryMs: number, log: Log, signal: AbortSignal) {
  let failures = 0;
  let next = 0;
  return async (message: Message): Promise<boolean> => {
    if (performance.now() < next) return false;
    try {
      const partly = await send(message, signal);
      if (partly)
        log.warn({ channel: name, reason: partly.message }, 'an alert did not reach each recipient');
      failures = 0;
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const pauseMs = Math.min(retryMs * 2 ** failures, maxRetryMs);
      failures += 1;
      next = performance.now() + pauseMs;
      // Other errors could repeat the address, which is a secret.
      const reason = error instanceof NotSent ? error.message : 'unexpected error';
      const retryS = Math.round(pauseMs / 1000);
      log.error({ channel: name, reason, retryS }, 'an alert could not be sent and is retried');
      return false;
    }
  };
}
