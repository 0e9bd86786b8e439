import pg from 'pg';
import { findLockHolders } from '../store/lock-holders.ts';
import { type Problem, unreadable } from './problem.ts';
import { judgeLocks, judgeWaiting, waitingQuery } from './processing.ts';
import {
  agesQuery,
  hiddenQuery,
  judgeAges,
  judgeHidden,
  judgePrepared,
  judgeSessions,
  judgeSlots,
  judgeUnlogged,
  preparedQuery,
  sessionsQuery,
  slotsQuery,
  unloggedQuery,
} from './server.ts';

const timeoutMs = 1_000;
/** A timeout, a missing right or table: PostgreSQL works, and one check does not. */
const ofOneCheck = /^(57014|55P03|42...)$/;

/** One message to PostgreSQL, so one transaction: also through a pooler. */
async function select<Row extends pg.QueryResultRow>(pool: pg.Pool, query: string): Promise<Row[]> {
  const text = `set local statement_timeout = ${timeoutMs}; ${query}`;
  const results = (await pool.query(text)) as unknown as pg.QueryResult<Row>[];
  return results.at(-1)!.rows;
}

const checks: Record<string, (pool: pg.Pool) => Promise<Problem[]>> = {
  'waiting deliveries': async (pool) => judgeWaiting(await select(pool, waitingQuery)),
  locks: async (pool) => judgeLocks(await findLockHolders(pool), Date.now()),
  'ages of databases': async (pool) => judgeAges(await select(pool, agesQuery)),
  'prepared transactions': async (pool) => judgePrepared(await select(pool, preparedQuery)),
  'replication slots': async (pool) => judgeSlots(await select(pool, slotsQuery)),
  'row security': async (pool) => judgeHidden(await select(pool, hiddenQuery)),
  'unlogged tables': async (pool) => judgeUnlogged(await select(pool, unloggedQuery)),
  'old sessions': async (pool) => judgeSessions(await select(pool, sessionsQuery)),
};

/** First what fails; the sort is stable. */
export const byUrgency = (problems: readonly Problem[]) =>
  problems.toSorted((a, b) => Number(b.status === 'fail') - Number(a.status === 'fail'));

/**
 * What is wrong with processing, most urgent first. What cannot be read is a problem of its own, and hides no other. Each
 * check takes a second at most.
 *
 * @throws the error of any other kind: then nothing is known
 */
export async function readProblems(pool: pg.Pool): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      problems.push(...(await check(pool)));
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && ofOneCheck.test(error.code ?? ''))) throw error;
      const detail = `PostgreSQL's error has the code ${error.code}. It may be overloaded, or a right is missing`;
      problems.push(unreadable(name, detail));
    }
  }
  return byUrgency(problems);
}
