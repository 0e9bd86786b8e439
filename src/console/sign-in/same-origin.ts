import type { RequestHandler } from 'express';
import type { Log } from '../../common/log.ts';
import { originOf, publicUrlOf } from './origin.ts';

/** Raised for a form that a page of another origin has sent. */
export class ForeignForm extends Error {}

/**
 * Rejects the forms of other sites, by the `Sec-Fetch-Site` of the browser, which it sends over TLS, or else by comparing
 * its `Origin` with PUBLIC_URL, or with the host that the request or a trusted proxy tells.
 *
 * @returns a handler that throws ForeignForm
 */
export function requireSameOrigin(log: Log): RequestHandler {
  const refuse = (details: Record<string, string>, message: string) => {
    log.limited('warn', {}, 'a form of another site was refused', details);
    throw new ForeignForm(message);
  };
  return (req, _res, next) => {
    if (req.method === 'GET' || req.method === 'HEAD') return next();
    const { origin } = req.headers;
    const site = req.headers['sec-fetch-site'];
    if (site === 'same-origin') return next();
    if (site !== undefined) {
      const kind = ['same-site', 'cross-site', 'none'].find((known) => known === site) ?? 'unknown';
      refuse({ site: kind }, `The browser says that no page of the console sent this form (${kind}).`);
    }
    if (origin === undefined) refuse({}, 'The browser does not say which page sent this form.');
    const publicUrl = publicUrlOf(req);
    const [given, own] = [parseOrigin(origin!), parseOrigin(originOf(req))];
    // Without PUBLIC_URL the scheme is not known behind a proxy that does not tell it.
    const isSame = given && own && (publicUrl ? given.origin === own.origin : given.host === own.host);
    if (isSame) return next();
    const compared = { origin: given?.origin ?? 'none', console: own?.origin ?? 'none' };
    const advice = publicUrl
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
