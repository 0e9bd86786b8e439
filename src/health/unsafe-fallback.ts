import type { Problem } from './problem.ts';

interface State {
  acknowledges: boolean;
  /** The operator has decided so. */
  isOff: boolean;
  detail: string;
}

/** The problem of a fallback store that would acknowledge nothing, in an outage that has not begun. The store logs it itself, at once. */
export function describeUnsafe({ acknowledges, isOff, detail }: State): Problem[] {
  if (acknowledges || isOff) return [];
  const title = 'Redis is no fallback store: in an outage of PostgreSQL callbacks would get a 503';
  return [{ kind: 'fallback', subject: '', status: 'warn', title, detail }];
}
