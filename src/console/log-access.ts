import { isIP } from 'node:net';
import type { Request, Response } from 'express';
import { sql } from 'kysely';
import { plainAddress } from '../common/address.ts';
import type { Log } from '../common/log.ts';
import { type Access, type Actor, logAccess as write } from '../privacy/log/access-log.ts';
import type { Db } from '../store/tables.ts';
import { LogUnavailable } from './errors.ts';
import type { Visit } from './ui/context.ts';

// Longer than a page may take: a download may be about hundreds of thousands of patients.
const timeoutMs = 60_000;

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
    await write(transaction, access);
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

/** Adds an entry about the signed-in user. */
export type LogVisit = (res: Response, access: Omit<Access, 'actor'>, on?: Db) => Promise<void>;

export const actorOf = (res: Response): Actor => (res.locals.visit as Visit).actor;

/** The address of the client, as the trusted proxies tell it. */
export function clientAddressOf(req: Request): string {
  const told = plainAddress(req.ip ?? 'unknown');
  return isIP(told) ? told : plainAddress(req.socket.remoteAddress ?? 'unknown');
}
