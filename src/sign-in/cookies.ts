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
