import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { NotAdmin } from './errors.ts';

/**
 * Lets through who sends `Authorization: Bearer <the admin token>`.
 *
 * @returns a middleware that raises NotAdmin (401)
 */
export function requireAdmin(adminToken: string): RequestHandler {
  const expected = digest(adminToken);
  return (req, _res, next) => {
    const given = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
    if (given && timingSafeEqual(digest(given), expected)) return next();
    throw new NotAdmin();
  };
}

// Of one length, so that the comparison tells nothing of the token's.
const digest = (token: string) => createHash('sha256').update(token).digest();
