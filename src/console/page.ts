import type { RequestHandler, Response } from 'express';
import type { Role } from '../common/config/value-types.ts';
import type { RunningCore } from '../receiver/feature.ts';
import type { Access } from '../receiver/store/log-access.ts';
import type { Db } from '../receiver/store/tables.ts';
import type { Takes } from './sign-in/rights.ts';
import type { Visit } from './ui/context.ts';

export class PageNotFound extends Error {}

export class BadInput extends Error {}

export class TooManyDownloads extends Error {}

/** The user has none of the roles that a page takes. */
export class NotAllowed extends Error {}

type AddRoute = (path: string, takes: Takes, handler: RequestHandler) => void;

/** Where pages add their routes, with the least role for each. */
export type Routes = Record<'get' | 'post', AddRoute>;

/** What pages work with. */
export interface Console extends RunningCore {
  /**
   * Reads for a page, in one snapshot and for some seconds at most. An entry of the access log is added outside of it: both at
   * once would need two of the few connections.
   */
  read: <T>(use: (db: Db) => Promise<T>) => Promise<T>;
  /** Adds an entry about the signed-in user, before the data is sent. @throws Error where it cannot be written */
  logAccess: (res: Response, access: Omit<Access, 'actor'>) => Promise<void>;
}

/** A page of the console, with the least role for each of its routes. */
export type Page = (routes: Routes, console: Console) => void;

/** What a role may besides its own. Nobody but `desk` and `privacy` sees personal data. */
const includes: Record<Role, readonly Role[]> = {
  viewer: [],
  desk: ['viewer'],
  operator: ['viewer'],
  privacy: ['viewer', 'desk'],
};

export const isAllowed = (roles: readonly Role[], takes: Takes): boolean =>
  takes === 'anyone' || roles.some((role) => role === takes || includes[role].includes(takes));

/** Whether the signed-in user has a role, or one that includes it. */
export const hasRole = (res: Response, role: Role): boolean =>
  isAllowed((res.locals.visit as Visit).roles, role);
