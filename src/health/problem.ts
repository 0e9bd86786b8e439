import type pg from 'pg';

/** Something that is wrong with processing, or was: what somebody has to repair. Its texts hold no personal data, and no message of PostgreSQL. */
export interface Problem {
  kind:
    | ('backlog' | 'stalled' | 'no worker' | 'locked' | 'set aside' | 'damaged')
    | 'old session'
    | ('gaps' | 'not reconciled')
    | 'undrained'
    | ('user deletion' | 'clock' | 'rejections')
    | ('queue' | 'fallback')
    | ('without state' | 'lost')
    | ('outage' | 'subscriptions' | 'destination')
    | 'unreadable';
  /** Where several may be: a family, table or session, for example; otherwise empty. */
  subject: string;
  /** `fail`: deliveries are not applied, or soon cannot be stored; `warn`: it works, but somebody should decide. */
  status: 'fail' | 'warn';
  /** What is wrong, without figures: the same as long as it lasts. */
  title: string;
  /** Since when, where that is known. */
  since?: Date | undefined;
  /** The figures, and what to do. */
  detail: string;
  /** The console's page about the oldest of what it is about, below /console. */
  page?: string;
}

export const unreadable = (what: string, detail: string): Problem => ({
  kind: 'unreadable',
  subject: what,
  status: 'warn',
  title: `The ${what} could not be read`,
  detail,
});

const timeoutMs = 1_000;

/** A query, and the problem that each of its rows is. */
export const defineCheck = <Row extends pg.QueryResultRow>(
  query: string | (() => string),
  judge: (row: Row) => Problem | undefined,
) => ({
  judge,
  /** One message to PostgreSQL, so one transaction: also through a pooler. */
  read: async (pool: pg.Pool): Promise<Problem[]> => {
    const text = `set local statement_timeout = ${timeoutMs}; ${typeof query === 'string' ? query : query()}`;
    const results = (await pool.query(text)) as unknown as pg.QueryResult<Row>[];
    return results.at(-1)!.rows.flatMap((row) => judge(row) ?? []);
  },
});
