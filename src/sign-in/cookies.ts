import type { CookieOptions, Request } from 'express';
import { sessionS } from '../store/sessions.ts';
import { isSecure } from './origin.ts';

export const sessionCookie = 'receiver_console';
/** Holds what the identity provider is asked again with. */
export const refreshCookie = 'receiver_console_refresh';

export const sessionMs = sessionS * 1000;

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
