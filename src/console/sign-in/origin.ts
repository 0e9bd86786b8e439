import type { Request, RequestHandler } from 'express';
import type { Config } from '../../common/config/config.ts';
import type { Core } from '../../receiver/feature.ts';

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

export class ForeignForm extends Error {}

/**
 * Rejects the forms of other sites, by the `Sec-Fetch-Site` of the browser, which it sends over TLS, or else by comparing
 * its `Origin` with PUBLIC_URL, or with the host of the request or of a trusted proxy.
 */
export function requireSameOrigin({ config, log }: Core): RequestHandler {
  const refuse = (details: Record<string, string>, message: string): never => {
    log.limited('warn', {}, 'a form of another site was refused', details);
    throw new ForeignForm(message);
  };
  return (req, _res, next) => {
    if (req.method === 'GET' || req.method === 'HEAD') return next();
    const site = req.headers['sec-fetch-site'];
    if (site === 'same-origin') return next();
    if (site !== undefined) {
      const kind = ['same-site', 'cross-site', 'none'].find((known) => known === site) ?? 'unknown';
      return refuse({ site: kind }, `The browser says that no page of the console sent this form (${kind}).`);
    }
    const { origin } = req.headers;
    if (origin === undefined) return refuse({}, 'The browser does not say which page sent this form.');
    const [sender, own] = [parseOrigin(origin), parseOrigin(originOf(req, config))];
    // Without PUBLIC_URL the scheme is not known behind a proxy that does not tell it.
    const part = config.publicUrl ? 'origin' : 'host';
    if (sender && sender[part] === own?.[part]) return next();
    const compared = { origin: sender?.origin ?? 'none', console: own?.origin ?? 'none' };
    const advice = config.publicUrl
      ? 'That is PUBLIC_URL: open the console there.'
      : 'If both are the console, because a proxy changes the host, set PUBLIC_URL to the address that browsers use.';
    refuse(
      compared,
      `This form was sent by a page of ${compared.origin}, and the console is at ${compared.console}. ${advice}`,
    );
  };
}

/** The origin "null" of a page without one cannot be parsed. */
const parseOrigin = (text: string) => (URL.canParse(text) ? new URL(text) : undefined);
