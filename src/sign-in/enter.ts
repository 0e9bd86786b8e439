import type { Request, Response } from 'express';
import type { RateLimit } from '../common/rate-limit.ts';
import type { Actor } from '../privacy/log/access-log.ts';
import type { LogAccess } from '../privacy/log/log-or-refuse.ts';
import { isUnavailable } from '../store/faults.ts';
import { beginSession, type User } from '../store/sessions.ts';
import type { Db } from '../store/tables.ts';
import { sessionCookie, sessionOptions } from './cookies.ts';
import { clientAddressOf } from './origin.ts';
import { newSession, sessionMs } from './sessions.ts';

export type Way = 'admin token' | 'identity provider';

/** Limits the failed sign-ins of an address. */
export type Attempts = Readonly<Record<Way, Pick<RateLimit, 'check' | 'consume'>>>;

export interface EnterDependencies {
  db: Db;
  /** The hash of a session's cookie. */
  hash: (cookie: string) => Buffer;
  attempts: Attempts;
  logAccess: LogAccess;
}

/**
 * Begins a session, with its entry in the access log.
 *
 * @throws LogUnavailable, or the database's error
 */
export async function enter(
  { hash, db, logAccess }: Pick<EnterDependencies, 'hash' | 'db' | 'logAccess'>,
  req: Request,
  res: Response,
  user: User,
  way: Way,
): Promise<void> {
  res.locals.entering = true;
  const { role, ...actor } = user;
  const address = clientAddressOf(req);
  const cookie = newSession();
  await db.transaction().execute(async (tx) => {
    // The entry's lock comes first: whoever then ends all sessions of this user ends this one, too.
    await logAccess({ actor: { ...actor, address }, action: 'sign-in', filter: { with: way, role } }, tx);
    await beginSession(tx, hash(cookie), user, address);
  });
  res.cookie(sessionCookie, cookie, { ...sessionOptions(req), maxAge: sessionMs });
}

/**
 * Counts and logs a failed sign-in. What an address tries beyond its limit is not logged: otherwise anybody could fill
 * the log.
 *
 * @throws TooManyRequests if the address has reached the limit
 * @throws LogUnavailable
 */
export async function recordFailure(
  { attempts, logAccess }: Pick<EnterDependencies, 'attempts' | 'logAccess'>,
  req: Request,
  way: Way,
  reason: string,
  user: Actor = { id: 'unknown' },
): Promise<void> {
  const address = clientAddressOf(req);
  attempts[way].consume(address);
  await logAccess({ actor: { ...user, address }, action: 'sign-in failed', filter: { with: way, reason } });
}

/** Does what needs the database. @returns false: PostgreSQL is unavailable */
export async function unlessAway(res: Response, act: () => Promise<void>): Promise<boolean> {
  if (res.locals.outage) return false;
  try {
    await act();
    return true;
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  }
}
