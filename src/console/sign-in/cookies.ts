import { createHmac, randomBytes } from 'node:crypto';
import type { CookieOptions, Request } from 'express';
import { isSecure } from './origin.ts';

export const sessionCookie = 'receiver_console';

/** The value of a cookie in a Cookie header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  return new RegExp(`(?:^|;) *${name}=([^;]*)`).exec(header ?? '')?.[1];
}

/** The cookie of a session: other sites cannot send it, and scripts cannot read it. */
export const sessionOptions = (req: Request): CookieOptions => ({
  path: '/console',
  httpOnly: true,
  sameSite: 'strict',
  secure: isSecure(req),
});

export const newSession = (): string => randomBytes(32).toString('base64url');

/**
 * The hash that the database has of a session's cookie. The secrets of sign-in are part of it, so that a change of one ends
 * every session.
 */
export const hashOf = (cookie: string, secrets: readonly (string | undefined)[]): Buffer =>
  createHmac('sha256', JSON.stringify(secrets.map((secret) => secret ?? '')))
    .update(cookie)
    .digest();
