import type { Response } from 'express';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Actor } from '../../receiver/store/log-access.ts';
import type { Aliases } from '../../reconcile/aliases.ts';
import type { May, Role } from '../sign-in/rights.ts';

/** Failed deliveries and rejected bodies, of which the navigation shows the number. */
export type Problems = Record<'failed' | 'quarantine', number>;

/** A place in the navigation. */
export interface Entry {
  title: string;
  /** Below /console; pages below it belong to it. */
  path: string;
  /** The paths of other pages that belong to it. */
  also?: readonly string[];
  /** The number of problems that stands beside it; true: of all. */
  counted?: true | keyof Problems;
}

/** Entries for one kind of users. */
export interface Group {
  title: string;
  entries: readonly Entry[];
}

/** What every component of a page may need. */
export interface Visit {
  navigation: readonly Group[];
  may: May;
  timezone: string;
  /** The user, and from where. */
  actor: Actor;
  roles: readonly Role[];
  /** The hash of its cookie. */
  session: Buffer;
  aliases?: Aliases;
  /** Undefined where they could not be counted. */
  problems?: Problems | undefined;
}

export const actorOf = (res: Response): Actor => (res.locals.visit as Visit).actor;

/** Only the pages of a signed-in user provide it. */
export const VisitContext = createContext({} as Visit);

/** Tells whether the user may open a page of the console, by its path below /console. */
export function useMayOpen(): (path: string) => boolean {
  const { may } = useContext(VisitContext);
  return (path) => may('GET', path);
}

/** Whether the user may post a form to an address of the console. */
export function useMayPost(address: string): boolean {
  const { may } = useContext(VisitContext);
  return may('POST', address);
}
