import type { Response } from 'express';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Role } from '../../common/config/value-types.ts';
import type { Actor } from '../../receiver/store/log-access.ts';
import type { Aliases } from '../../reconcile/aliases.ts';

/** Failed deliveries and rejected bodies, of which the navigation shows the number. */
export type Problems = Record<'failed' | 'quarantine', number>;

export interface Entry {
  title: string;
  /** Below /console; pages below it belong to it. */
  path: string;
  /** The paths of other pages that belong to it. */
  also?: readonly string[];
  counted?: keyof Problems;
}

export interface Group {
  title: string;
  entries: readonly Entry[];
}

/** The same for every user. */
export interface Frame {
  navigation: readonly Group[];
  may: (roles: readonly Role[], method: 'GET' | 'POST', address: string) => boolean;
  timezone: string;
}

/** The request of a signed-in user: any component of its page may need it. */
interface Visit extends Frame {
  actor: Actor;
  roles: readonly Role[];
  /** The hash of its cookie. */
  session: Buffer;
  aliases?: Aliases;
  /** Undefined where they could not be counted. */
  problems?: Problems;
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

/** Takes the path below /console. */
export function useMayOpen(): (path: string) => boolean {
  const { may, roles } = useVisit();
  return (path) => may(roles, 'GET', path);
}

export function useMayPost(address: string): boolean {
  const { may, roles } = useVisit();
  return may(roles, 'POST', address);
}

export type Values = Readonly<Record<string, string | undefined>>;

/** The address of a page of the console. Undefined and empty fields are left out. */
export function hrefTo(path: string, fields: Values = {}): string {
  const filled = Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return `/console${path}${filled.length > 0 ? `?${new URLSearchParams(filled)}` : ''}`;
}

/** The page of a receipt, a consent form, and so on; `id`: of the delivery where the family has no key. */
export const recordHref = (family: string, business: string, id: string) =>
  hrefTo(`/records/${family}`, { business, id });
