import type { Request, Response } from 'express';
import type { Kysely } from 'kysely';
import type { Log } from '../log.ts';
import { type Access, type Actor, logAccess } from '../privacy/access-log.ts';
import type { Tables } from '../store/tables.ts';
import { LogUnavailable } from './errors.ts';
import type { Visit } from './ui/context.ts';

/**
 * Adds an entry to the access log, before what it is about is shown or done.
 *
 * @param on the transaction of what is done, if it is to be done only together with the entry
 * @throws LogUnavailable
 */
export type RecordAccess = (access: Access, on?: Kysely<Tables>) => Promise<void>;

export function createRecordAccess(db: Kysely<Tables>, log: Log): RecordAccess {
  return async (access, on = db) => {
    try {
      await logAccess(on, access);
    } catch (error) {
      log.error({ err: error, action: access.action }, 'the access log cannot be written');
      throw new LogUnavailable();
    }
  };
}

/** The signed-in user. */
export const actorOf = (res: Response): Actor => (res.locals.visit as Visit).actor;

/** The address of a request's sender, as the trusted proxies tell it. */
// A socket that listens on IPv6 shows IPv4 addresses as ::ffff:192.0.2.1.
export const addressOf = (req: Request): string => (req.ip ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
