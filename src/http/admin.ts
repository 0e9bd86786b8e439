import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { RateLimit } from '../rate-limit.ts';
import { isSameSecret } from '../secret.ts';
import { addressOf } from './access/address.ts';
import { NotAdmin } from './errors.ts';

/** An administrator is whoever has the admin token. */
export interface AdminAccess {
  /** Whether a request has `Authorization: Bearer <the admin token>`. */
  isAdmin: (req: IncomingMessage) => boolean;
  /**
   * Raises NotAdmin (401) for all other requests, and TooManyRequests (429) if the address has sent too many wrong
   * tokens. The right token passes even then: others behind the same proxy may have sent them.
   */
  require: RequestHandler;
}

const bearerOf = (req: IncomingMessage) => /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];

/**
 * @param attempts the limit of wrong tokens per address
 * @param trustProxy how many trusted proxies are in front of the service
 */
export function createAdminAccess(adminToken: string, attempts: RateLimit, trustProxy: number): AdminAccess {
  const isToken = (given: string | undefined) => given !== undefined && isSameSecret(given, adminToken);
  return {
    isAdmin: (req) => isToken(bearerOf(req)),
    require: (req, _res, next) => {
      const given = bearerOf(req);
      if (isToken(given)) return next();
      if (given) attempts.consume(addressOf(req, trustProxy));
      throw new NotAdmin();
    },
  };
}
