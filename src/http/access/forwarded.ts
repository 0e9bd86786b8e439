import type { IncomingMessage } from 'node:http';
import type { Log } from '../../log.ts';

/** Whether X-Forwarded-For arrives though no proxy is trusted. */
export interface ForwardedWatch {
  look: (req: IncomingMessage) => void;
  isIgnored: () => boolean;
}

export const forwardedIgnored =
  'X-Forwarded-For arrives, but TRUST_PROXY is 0: if a proxy of yours sends it, all senders count as its one address';

/** Warns once: behind a proxy that is not trusted, limits and address lists meet the proxy instead of the sender. */
export function watchForwarded(trustProxy: number, log: Log): ForwardedWatch {
  let ignored = false;
  return {
    look: (req) => {
      if (ignored || trustProxy > 0 || req.headers['x-forwarded-for'] === undefined) return;
      ignored = true;
      log.warn(forwardedIgnored);
    },
    isIgnored: () => ignored,
  };
}
