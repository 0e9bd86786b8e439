import type { RequestHandler, Router } from 'express';
import { isSameSecret } from '../common/secret.ts';
import { isEnough, MissingRole, type Rights, type Takes } from '../sign-in/rights.ts';
import { Forbidden } from './errors.ts';
import { sendConfirmation } from './kept-form.tsx';
import type { Visit } from './ui/context.ts';

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
  // The browser says where it is from, and `requireSameOrigin` has compared that.
  const { origin, 'sec-fetch-site': site } = req.headers;
  if (origin === undefined && site === undefined) throw new Forbidden();
  sendConfirmation(req, res);
};

type AddRoute = (path: string, takes: Takes, handler: RequestHandler) => void;

/** Where pages add their routes, with the least role for each. */
export type Routes = Record<'get' | 'post', AddRoute>;

export function guardRoutes(router: Router, rights: Rights): Routes {
  const add =
    (method: 'get' | 'post'): AddRoute =>
    (path, takes, handler) => {
      rights.add(method.toUpperCase(), path, takes);
      const guard: RequestHandler = (_req, res, next) => {
        const visit = res.locals.visit as Visit | undefined;
        if (takes !== 'anyone' && !(visit && isEnough(visit.role, takes)))
          throw new MissingRole(takes, visit?.role);
        next();
      };
      router[method](path, guard, handler);
    };
  return { get: add('get'), post: add('post') };
}
