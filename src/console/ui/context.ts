import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Actor } from '../../privacy/log/access-log.ts';
import type { Aliases } from '../../store/aliases.ts';
import { may, type Role } from '../rights.ts';

/** Failed deliveries and rejected bodies, of which the navigation shows the numbers. */
export interface Problems {
  failed: number;
  quarantine: number;
}

/** What every component of a page may need. */
export interface Visit {
  timezone: string;
  /** The token of the session's forms. */
  csrf: string;
  /** The user, and from where. */
  actor: Actor;
  role: Role;
  /** The id of the session. */
  session: string;
  aliases?: Aliases;
  /** Undefined where they could not be counted. */
  problems?: Problems | undefined;
}

export const VisitContext = createContext<Visit>({
  timezone: 'UTC',
  csrf: '',
  actor: { id: '' },
  role: 'viewer',
  session: '',
});

/** Whether the user may post a form to an address of the console. */
export function useMayPost(address: string): boolean {
  return may(useContext(VisitContext).role, 'POST', address);
}
