import type { Request, Response } from 'express';
import type { RateLimit } from '../common/rate-limit.ts';
import type { Actor } from '../privacy/log/access-log.ts';
import type { LogAccess } from '../privacy/log/log-or-refuse.ts';
import { isUnavailable } from '../store/faults.ts';
import { readClock } from '../store/sessions.ts';
import type { Db } from '../store/tables.ts';
import { refreshCookie, sessionCookie, sessionMs, sessionOptions } from './cookies.ts';
import { clientAddressOf } from './origin.ts';
import type { Recheck } from './recheck.ts';
import type { Sessions, User } from './sessions.ts';

export type Way = 'admin token' | 'identity provider';

/** Limits the failed sign-ins of an address. */
export type Attempts = Readonly<Record<Way, Pick<RateLimit, 'check' | 'consume'>>>;

export interface EnterDependencies {
  db: Db;
  sessions: Sessions;
  recheck: Recheck | undefined;
  attempts: Attempts;
  logAccess: LogAccess;
}

/**
 * Begins a session, once it is in the access log.
 *
 * @param refreshToken of the identity provider, which is asked with it again and again
 * @throws LogUnavailable, or the database's error
 */
export async function enter(
  { sessions, db, recheck, logAccess }: EnterDependencies,
  req: Request,
  res: Response,
  user: User,
  way: Way,
  refreshToken?: string,
): Promise<void> {
  res.locals.entering = true;
  // Before the entry: whoever then ends all sessions of this user ends this one, too.
  const begun = await readClock(db);
  const { role, ...actor } = user;
  const filter = { with: way, role };
  await logAccess({ actor: { ...actor, address: clientAddressOf(req) }, action: 'sign-in', filter });
  const isRechecked = recheck?.canKeep(refreshToken);
  const { value, maxAge } = sessions.begin(isRechecked ? { ...user, recheck: true } : user, begun);
  res.cookie(sessionCookie, value, { ...sessionOptions(req), maxAge });
  if (isRechecked) keepRefresh(req, res, recheck!.begin(sessions.read(value)!, refreshToken!));
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

/** Lets the browser keep what the identity provider is asked again with: only receivers can read it. */
export const keepRefresh = (req: Request, res: Response, value: string) =>
  res.cookie(refreshCookie, value, { ...sessionOptions(req), maxAge: sessionMs });
