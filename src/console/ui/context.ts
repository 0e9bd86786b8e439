import { createContext } from 'preact';

/** What every part of a page may need to know. */
export interface Visit {
  timezone: string;
  /** The token of the session's forms. */
  csrf: string;
}

export const VisitContext = createContext<Visit>({ timezone: 'UTC', csrf: '' });
