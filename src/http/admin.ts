import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { addressOf } from './access/address.ts';
import type { RateLimit } from '../rate-limit.ts';
import { NotAdmin } from './errors.ts';

/** How often an address may try tokens. */
export interface Attempts {
  /**
   * Counts a try with a wrong token. A right one passes without being asked about: others behind the same
   * proxy may have tried wrong ones.
   *
   * @throws TooManyRequests once the address has tried too often
   */
  wrong: (req: IncomingMessage) => void;
}

/** @param trustProxy how many proxies stand in front */
export function countAttempts(limit: RateLimit, trustProxy: number): Attempts {
  return {
    wrong: (req) => {
      const address = addressOf(req, trustProxy);
      limit.check(address);
      limit.count(address);
    },
  };
}

/** Compares without the time taken telling how much of it was right. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

const bearerOf = (req: IncomingMessage) => /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];

/** Whether a request brings `Authorization: Bearer <the admin token>`. */
export function isFromAdmin(req: IncomingMessage, adminToken: string): boolean {
  const given = bearerOf(req);
  return given !== undefined && isSameSecret(given, adminToken);
}

/**
 * Lets through who sends `Authorization: Bearer <the admin token>`.
 *
 * @param attempts limits how often an address may try wrong ones; left out: no limit
 * @returns a middleware that raises NotAdmin (401) or TooManyRequests (429)
 */
export function requireAdmin(adminToken: string, attempts?: Attempts): RequestHandler {
  return (req, _res, next) => {
    if (isFromAdmin(req, adminToken)) return next();
    if (bearerOf(req)) attempts?.wrong(req);
    throw new NotAdmin();
  };
}
