import { sql } from 'kysely';
import type { Log } from '../../common/log.ts';
import type { Db } from '../../store/tables.ts';
import { type Access, logAccess } from './access-log.ts';

// Longer than a page may take: a download may be about hundreds of thousands of patients.
const timeoutMs = 60_000;

/** Raised instead of doing what cannot be logged. */
export class LogUnavailable extends Error {
  override message = 'The access log cannot be written, so nothing is shown.';
}

/**
 * Adds an entry to the access log, before what it is about is shown or done.
 *
 * @param on the transaction of what is done, if it is to be done only together with the entry
 * @throws LogUnavailable
 */
export type LogAccess = (access: Access, on?: Db) => Promise<void>;

export function createLogAccess(db: Db, log: Log): LogAccess {
  const add = async (transaction: Db, access: Access) => {
    await sql`set local statement_timeout = ${sql.lit(timeoutMs)}`.execute(transaction);
    await logAccess(transaction, access);
  };
  return async (access, on) => {
    try {
      await (on ? add(on, access) : db.transaction().execute((own) => add(own, access)));
    } catch (error) {
      log.limited('error', { action: access.action }, 'the access log cannot be written', { err: error });
      throw new LogUnavailable(undefined, { cause: error });
    }
  };
}
