import type { Log } from '../common/log.ts';
import { type Channel, NotSent } from './channels.ts';
import type { Message } from './message.ts';

const maxRetryMs = 60 * 60 * 1000;

export interface Sender {
  name: string;
  /** @returns whether the channel has accepted it; after a failure it is not tried for a while */
  send: (message: Message) => Promise<boolean>;
}

/**
 * @param retryMs of the first retry; the time doubles up to an hour
 * @param signal ends an attempt
 */
export function createSender(channel: Channel, retryMs: number, log: Log, signal: AbortSignal): Sender {
  const { name } = channel;
  let failures = 0;
  let next = 0;
  return {
    name,
    send: async (message) => {
      if (performance.now() < next) return false;
      try {
        const partly = await channel.send(message, signal);
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
        log.error(
          { channel: name, reason, retryS: Math.round(pauseMs / 1000) },
          'an alert could not be sent and is retried',
        );
        return false;
      }
    },
  };
}
