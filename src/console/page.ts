import express, { type Express, type RequestHandler, type Response } from 'express';
import type { Role } from '../common/config/value-types.ts';
import type { RunningCore } from '../receiver/feature.ts';
import type { Access } from '../receiver/store/log-access.ts';
import type { Db } from '../receiver/store/tables.ts';
import { isAllowed, type LeastRole } from './roles.ts';
import { visitOf } from './ui/context.ts';

export class PageNotFound extends Error {}
export class BadInput extends Error {}
export class TooManyDownloads extends Error {
  override readonly message = 'The maximum number of downloads is running. Try again later.';
}
export class NotAllowed extends Error {}

type AddRoute = (path: string, role: LeastRole, handler: RequestHandler) => void;

export type Routes = Record<'get' | 'post', AddRoute>;

export interface PageContext extends RunningCore {
  /**
   * Reads for a page, in one snapshot and for some seconds at most. An entry of the access log is added outside of it: both at
   * once would need two of the few connections.
   */
  read: <T>(use: (db: Db) => Promise<T>) => Promise<T>;
  /** Adds an entry about the signed-in user, before the data is sent. @throws Error where it cannot be written */
  logAccess: (res: Response, access: Omit<Access, 'actor'>) => Promise<void>;
}

export type Page = (routes: Routes, context: PageContext) => void;

export const hasRole = (res: Response, role: Role): boolean => isAllowed(visitOf(res).roles, role);

const readBody = express.urlencoded({ extended: false, limit: '64kb' });

/** Routes that check the role, and read a form after it. */
export function createRoutes(app: Express): Routes {
  const add =
    (method: 'get' | 'post'): AddRoute =>
    (path, role, handler) => {
      const guard: RequestHandler = (_req, res, next) => {
        const roles = res.locals.visit?.roles ?? [];
        if (!isAllowed(roles, role))
          throw new NotAllowed(`This takes the role ${role}. Your roles: ${roles.join(', ') || 'none'}.`);
        next();
      };
      app[method](path, method === 'post' ? [guard, readBody] : guard, handler);
    };
  return { get: add('get'), post: add('post') };
}
