import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { NotAdministrator } from './errors.ts';

/** Lets a request pass that carries `Authorization: Bearer <the admin token>`, and no other. */
export function requireAdmin(adminToken: string): RequestHandler {
  const expected = digest(adminToken);
  return (req, _res, next) => {
    const [, token = ''] = /^Bearer (.+)$/i.exec(req.headers.authorization ?? '') ?? [];
    next(timingSafeEqual(digest(token), expected) ? undefined : new NotAdministrator());
  };
}

// Of one length, so that the comparison tells nothing of the token's.
const digest = (token: string) => createHash('sha256').update(token).digest();
