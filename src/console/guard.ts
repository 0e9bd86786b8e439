import type { RequestHandler, Router } from 'express';
import { isSameSecret } from '../secret.ts';
import { Forbidden, MissingRole } from './errors.ts';
import { sendConfirmation } from './kept-form.tsx';
import { isEnough, type Role, type Route, rights } from './rights.ts';
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
 * Stops a form without its session's token: one that a page of the console sent has to be confirmed, because the session
 * may have begun after it was typed.
 *
 * @throws Forbidden for any other
 */
export const requireFormToken: RequestHandler = (req, res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  const given: unknown = req.body?.csrf;
  const { csrf } = res.locals.visit as Visit;
  if (typeof given === 'string' && isSameSecret(given, csrf)) return next();
  // The browser says where it is from, and `requireSameSite` has compared that.
  const { origin, 'sec-fetch-site': site } = req.headers;
  if (origin === undefined && site === undefined) throw new Forbidden();
  sendConfirmation(req, res);
};

type PathOf<Method extends string, R = Route> = R extends `${Method} ${infer Path}` ? Path : never;

/** Where pages add their routes. */
export interface Routes {
  get: (path: PathOf<'GET'>, handler: RequestHandler) => void;
  post: (path: PathOf<'POST'>, handler: RequestHandler) => void;
}

/** Adds routes that check the role which the table of rights says. */
export function guardRoutes(router: Router): Routes {
  return {
    get: (path, handler) => void router.get(path, requireRole(`GET ${path}`), handler),
    post: (path, handler) => void router.post(path, requireRole(`POST ${path}`), handler),
  };
}

function requireRole(route: string): RequestHandler {
  if (!Object.hasOwn(rights, route)) throw new Error(`The table of rights does not list ${route}.`);
  const takes: Role | 'anyone' = rights[route as Route];
  return (_req, res, next) => {
    if (takes === 'anyone') return next();
    const visit = res.locals.visit as Visit | undefined;
    if (!visit || !isEnough(visit.role, takes)) throw new MissingRole(takes, visit?.role);
    next();
  };
}
