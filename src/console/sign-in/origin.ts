import type { Request } from 'express';

/** The name of the application's setting with PUBLIC_URL. */
export const publicUrlSetting = 'public url';

/** PUBLIC_URL; undefined: it is not set. */
export const publicUrlOf = (req: Request) => req.app.get(publicUrlSetting) as string | undefined;

/**
 * Scheme, host and port of the console, as browsers use it: PUBLIC_URL, or else as the request tells, or the trusted proxy
 * in X-Forwarded-Proto and X-Forwarded-Host.
 */
export const originOf = (req: Request): string => publicUrlOf(req) ?? `${req.protocol}://${req.host}`;

export const isSecure = (req: Request): boolean => originOf(req).startsWith('https:');

/** The path of a page of the console; for anything else, its first page. */
export function ownPath(next: unknown): string {
  const own = 'http://own.invalid';
  if (typeof next !== 'string' || !URL.canParse(next, own)) return '/console';
  const { origin, pathname, search } = new URL(next, own);
  const isOwn = origin === own && /^\/console(\/|$)/.test(pathname);
  const isPage = !/^\/console\/(sign-in|sign-out|assets)/.test(pathname);
  return isOwn && isPage ? pathname + search : '/console';
}
