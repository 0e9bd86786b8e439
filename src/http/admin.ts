import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { addressOf } from './door/address.ts';
import type { RateLimit } from './door/rate-limit.ts';
import { NotAdmin } from './errors.ts';

/** How often an address may try tokens. */
export interface Attempts {
  /** @throws TooManyRequests once it has tried too often */
  check: (req: IncomingMessage) => void;
  /** Counts a try with a wrong token. */
  count: (req: IncomingMessage) => void;
}

/** @param trustProxy how many proxies stand in front */
export function countAttempts(limit: RateLimit, trustProxy: number): Attempts {
  return {
    check: (req) => limit.check(addressOf(req, trustProxy)),
    count: (req) => limit.count(addressOf(req, trustProxy)),
  };
}

/** Compares without the time taken telling how much of it was right. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/**
 * Lets through who sends `Authorization: Bearer <the admin token>`.
 *
 * @param attempts limits how often an address may try; left out: no limit
 * @returns a middleware that raises NotAdmin (401) or TooManyRequests (429)
 */
export function requireAdmin(adminToken: string, attempts?: Attempts): RequestHandler {
  return (req, _res, next) => {
    attempts?.check(req);
    const given = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
    if (given && isSameSecret(given, adminToken)) return next();
    if (given) attempts?.count(req);
    throw new NotAdmin();
  };
}
