import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { RateLimit } from '../rate-limit.ts';
import { isSameSecret } from '../secret.ts';
import { addressOf } from './access/address.ts';
import { NotAdmin } from './errors.ts';

/** Who is an administrator: whoever has the admin token. */
export interface AdminAccess {
  /**
   * Compares a token with the admin token, and counts a wrong one against the request's address. A right one
   * passes whatever its address did: others behind the same proxy may have tried wrong ones.
   *
   * @throws TooManyRequests once the address has tried too often
   */
  verify: (req: IncomingMessage, given: string) => boolean;
  /** Whether a request brings `Authorization: Bearer <the admin token>`. */
  isAdmin: (req: IncomingMessage) => boolean;
  /** Raises NotAdmin (401) or TooManyRequests (429) for all other requests. */
  require: RequestHandler;
}

const bearerOf = (req: IncomingMessage) => /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];

/**
 * @param attempts how often an address may try wrong tokens
 * @param trustProxy how many proxies stand in front
 */
export function createAdminAccess(adminToken: string, attempts: RateLimit, trustProxy: number): AdminAccess {
  const isToken = (given: string | undefined) => given !== undefined && isSameSecret(given, adminToken);
  const verify = (req: IncomingMessage, given: string) => {
    if (isToken(given)) return true;
    const address = addressOf(req, trustProxy);
    attempts.check(address);
    attempts.count(address);
    return false;
  };
  return {
    verify,
    isAdmin: (req) => isToken(bearerOf(req)),
    require: (req, _res, next) => {
      const given = bearerOf(req);
      if (!given || !verify(req, given)) throw new NotAdmin();
      next();
    },
  };
}
