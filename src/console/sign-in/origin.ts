import type { Request, RequestHandler } from 'express';
import type { Config } from '../../common/config/config.ts';
import type { Core } from '../../receiver/feature.ts';
import { NotAllowed } from '../page.ts';

/**
 * Scheme, host and port of the console, as browsers use it: PUBLIC_URL, or else those of the request, or of the trusted proxy in
 * X-Forwarded-Proto and X-Forwarded-Host.
 */
export const originOf = (req: Request, { publicUrl }: Config): string =>
  publicUrl ?? `${req.protocol}://${req.host}`;

/** The path of a page of the console; for anything else, its first page. */
export function ownPath(next: unknown): string {
  const own = 'http://own.invalid';
  if (typeof next !== 'string' || !URL.canParse(next, own)) return '/console';
  const { origin, pathname, search } = new URL(next, own);
  const isOwn = origin === own && /^\/console(\/|$)/.test(pathname);
  const isPage = !/^\/console\/(sign-in|sign-out|assets)/.test(pathname);
  return isOwn && isPage ? pathname + search : '/console';
}

/**
 * Rejects the forms of other sites, by the `Sec-Fetch-Site` of the browser, which it sends over TLS, or else by comparing
 * its `Origin` with PUBLIC_URL, or with the host of the request or of a trusted proxy.
 */
export function requireSameOrigin({ config, log }: Core): RequestHandler {
  return (req, _res, next) => {
    const { 'sec-fetch-site': site, origin = 'none' } = req.headers;
    if (req.method === 'GET' || req.method === 'HEAD' || site === 'same-origin') return next();
    const own = originOf(req, config);
    // Without PUBLIC_URL the scheme is not known behind a proxy that does not tell it.
    const part = config.publicUrl ? 'origin' : 'host';
    const isOwn = URL.canParse(origin) && new URL(origin)[part] === new URL(own)[part];
    if (site === undefined && isOwn) return next();
    log.limited('warn', {}, 'a form of another site was refused', { site, origin, console: own });
    throw new NotAllowed(
      `This form was sent by a page of ${origin}, and the console is at ${own}. If both are the console, set PUBLIC_URL to the address that browsers use.`,
    );
  };
}
