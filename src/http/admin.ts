import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { type RateLimit, TooManyRequests } from '../common/rate-limit.ts';
import { isSameSecret } from '../common/secret.ts';
import { addressOf } from '../receiver/http/address.ts';
import { NotAdmin } from '../receiver/http/errors.ts';

export type TokenAccess = ReturnType<typeof createTokenAccess>;

interface TokenOptions {
  token: string;
  /** The name of the token in the response. */
  name: string;
  /** The limit of wrong tokens per address. */
  attempts: RateLimit;
  /** How many trusted proxies are in front of the service. */
  trustProxy: number;
  /** Called for each wrong token below the limit. */
  onWrong?: (address: string) => void;
}

export const bearerOf = (req: IncomingMessage) =>
  /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];

export function createTokenAccess({ token, name, attempts, trustProxy, onWrong }: TokenOptions) {
  /** @throws TooManyRequests */
  const compare = (req: IncomingMessage): boolean => {
    const given = bearerOf(req);
    if (given === undefined) return false;
    const address = addressOf(req, trustProxy);
    attempts.check(address);
    if (isSameSecret(given, token)) return true;
    attempts.consume(address);
    onWrong?.(address);
    return false;
  };
  return {
    /** Whether a request has `Authorization: Bearer <the token>`; false also where its address has reached the limit. */
    has: (req: IncomingMessage): boolean => {
      try {
        return compare(req);
      } catch (error) {
        if (error instanceof TooManyRequests) return false;
        throw error;
      }
    },
    /**
     * Raises NotAdmin (401) for all other requests, and TooManyRequests (429) if the address has sent too many wrong
     * tokens. Until the period ends, no token of that address is compared: otherwise every guess would be tried, whatever
     * the response.
     */
    require: ((req, _res, next) => {
      if (!compare(req)) throw new NotAdmin(name);
      next();
    }) as RequestHandler,
  };
}
