/** Something that is wrong with processing. Its texts hold no personal data, and no message of PostgreSQL. */
export interface Problem {
  kind:
    | ('backlog' | 'stalled' | 'no worker' | 'locked')
    | ('wraparound' | 'prepared transaction' | 'replication slot' | 'old session')
    | ('unlogged' | 'row security' | 'undrained')
    | 'unreadable';
  /** Where several may be: a family, table or session, for example; otherwise empty. */
  subject: string;
  /** `fail`: deliveries are not applied, or soon cannot be stored; `warn`: it works, but somebody should decide. */
  status: 'fail' | 'warn';
  /** What is wrong, without figures: the same as long as it lasts. */
  title: string;
  /** The figures, and what to do. */
  detail: string;
}

export const unreadable = (what: string, detail: string): Problem => ({
  kind: 'unreadable',
  subject: what,
  status: 'warn',
  title: `The ${what} could not be read`,
  detail,
});
