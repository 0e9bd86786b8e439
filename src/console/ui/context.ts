import { createContext } from 'preact';

/** What every component of a page may need. */
export interface Visit {
  timezone: string;
  /** The token of the session's forms. */
  csrf: string;
}

export const VisitContext = createContext<Visit>({ timezone: 'UTC', csrf: '' });
