import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { RateLimit } from '../rate-limit.ts';
import { isSameSecret } from '../secret.ts';
import { addressOf } from './access/address.ts';
import { NotAdmin } from './errors.ts';

/** An administrator is whoever has the admin token. */
export interface AdminAccess {
  /**
   * Compares a token with the admin token, and counts a wrong one against the request's address. The right token
   * passes even if its address has reached the limit: others behind the same proxy may have sent wrong ones.
   *
   * @throws TooManyRequests if the address has sent too many wrong tokens
   */
  verify: (req: IncomingMessage, given: string) => boolean;
  /** Whether a request has `Authorization: Bearer <the admin token>`. */
  isAdmin: (req: IncomingMessage) => boolean;
  /** Raises NotAdmin (401) or TooManyRequests (429) for all other requests. */
  require: RequestHandler;
}

const bearerOf = (req: IncomingMessage) => /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];

/**
 * @param attempts the limit of wrong tokens per address
 * @param trustProxy how many trusted proxies are in front of the service
 */
export function createAdminAccess(adminToken: string, attempts: RateLimit, trustProxy: number): AdminAccess {
  const isToken = (given: string | undefined) => given !== undefined && isSameSecret(given, adminToken);
  const verify = (req: IncomingMessage, given: string) => {
    if (isToken(given)) return true;
    attempts.consume(addressOf(req, trustProxy));
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
