import type { Response } from 'express';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Role } from '../../common/config/value-types.ts';
import type { Actor } from '../../receiver/store/log-access.ts';
import type { Aliases } from '../../reconcile/aliases.ts';
import { isAllowed } from '../roles.ts';

/** The request of a signed-in user: any component of its page may need it. */
export interface Visit {
  actor: Actor;
  roles: readonly Role[];
  /** The hash of its cookie. */
  session: Buffer;
  timezone: string;
  patientHref: (subjects: readonly string[]) => string;
  aliases: Aliases;
  /** The number of callbacks that failed or were rejected. */
  problems: number;
}

declare global {
  namespace Express {
    interface Locals {
      /** Undefined before the user has signed in. */
      visit?: Visit;
    }
  }
}

export function visitOf({ locals: { visit } }: Response): Visit {
  if (!visit) throw new Error('This route has no session');
  return visit;
}

/** Only the pages of a signed-in user provide it. */
export const VisitContext = createContext({} as Visit);

export const useVisit = () => useContext(VisitContext);

export const useMay = (role: Role): boolean => isAllowed(useVisit().roles, role);

export type Values = Readonly<Record<string, string | undefined>>;

/** The address of a page of the console. Undefined and empty fields are left out. */
export function hrefTo(path: string, fields: Values = {}): string {
  const filled = Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return `/console${path}${filled.length > 0 ? `?${new URLSearchParams(filled)}` : ''}`;
}

/** The page of a receipt, a consent form, and so on; `id`: of the delivery where the family has no key. */
export const recordHref = (family: string, business: string, id: string) =>
  hrefTo(`/records/${family}`, { business, id });
