import type { RequestHandler } from 'express';
import { isSameSecret } from '../secret.ts';
import { Forbidden } from './errors.ts';
import type { Visit } from './ui/context.ts';

/**
 * Rejects cross-site posts, by the `Sec-Fetch-Site` or `Origin` header of the browser.
 *
 * @throws Forbidden
 */
export const requireSameSite: RequestHandler = (req, _res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') throw new Forbidden();
  const { origin, host } = req.headers;
  if (site === undefined && origin !== undefined) {
    // The origin "null" of a page without one cannot be parsed.
    if (!URL.canParse(origin) || new URL(origin).host !== host) throw new Forbidden();
  }
  next();
};

/**
 * Rejects a form without its session's token.
 *
 * @throws Forbidden
 */
export const requireFormToken: RequestHandler = (req, res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  const given: unknown = req.body?.csrf;
  const { csrf } = res.locals.visit as Visit;
  if (typeof given !== 'string' || !isSameSecret(given, csrf)) throw new Forbidden();
  next();
};
