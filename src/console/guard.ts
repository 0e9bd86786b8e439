import type { RequestHandler, Router } from 'express';
import { isEnough, MissingRole, type Rights, type Takes } from '../sign-in/rights.ts';
import type { Visit } from './ui/context.ts';

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
