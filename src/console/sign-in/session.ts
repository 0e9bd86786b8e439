import { createHmac, randomBytes } from 'node:crypto';
import type { CookieOptions, Request, Response } from 'express';
import { sql } from 'kysely';
import type { Config } from '../../common/config/config.ts';
import type { Role } from '../../common/config/value-types.ts';
import { rateLimit } from '../../common/rate-limit.ts';
import type { Core } from '../../receiver/feature.ts';
import { addressOf } from '../../receiver/http/access.ts';
import { type Actor, logAccess } from '../../receiver/store/log-access.ts';
import type { Db } from '../../receiver/store/tables.ts';
import { originOf } from './origin.ts';

export const sessionCookie = 'receiver_console';

export function readCookie(req: Request, name: string): string | undefined {
  return new RegExp(`(?:^|;) *${name}=([^;]*)`).exec(req.headers.cookie ?? '')?.[1];
}

/** The cookie of a session: other sites cannot send it, and scripts cannot read it. */
export const cookieOptions = (req: Request, config: Config) =>
  ({
    path: '/console',
    httpOnly: true,
    sameSite: 'strict',
    secure: originOf(req, config).startsWith('https:'),
  }) satisfies CookieOptions;

export type SignInSecrets = Pick<Config, 'adminToken' | 'oidc'>;

/** A key of the secrets of sign-in: a change of one ends every session, and every address of a patient. */
export const deriveKey = ({ adminToken = '', oidc }: SignInSecrets, use: string): Buffer =>
  createHmac('sha256', JSON.stringify([adminToken, oidc?.clientSecret ?? '']))
    .update(use)
    .digest();

export const hashOf = (cookie: string, config: Config) => deriveKey(config, `session ${cookie}`);

export interface User extends Actor {
  roles: readonly Role[];
}

export const sessionMs = 8 * 3_600_000;
const isValid = sql<boolean>`begun_at > now() - ${sql.lit(sessionMs)} * interval '1 ms'`;

export async function readSession({ db }: Core, hash: Buffer): Promise<User | undefined> {
  const user = await db
    .selectFrom('receiver.sessions')
    .select(['actor as id', 'actor_name as name', 'roles'])
    .where('hash', '=', hash)
    .where(isValid)
    .$narrowType<{ roles: Role[] }>()
    .executeTakeFirst();
  return user && { ...user, name: user.name ?? undefined };
}

/** Begins a session, and deletes those that have expired. @returns its cookie */
export async function beginSession({ db, config }: Core, user: User, address: string): Promise<string> {
  await db
    .deleteFrom('receiver.sessions')
    .where(({ not }) => not(isValid))
    .execute();
  const cookie = randomBytes(32).toString('base64url');
  const { id: actor, name: actor_name = null, roles } = user;
  const session = { hash: hashOf(cookie, config), actor, actor_name, roles: [...roles], address };
  await db.insertInto('receiver.sessions').values(session).execute();
  return cookie;
}

export async function endSessions(db: Db, column: 'hash' | 'actor', value: Buffer | string): Promise<void> {
  await db.deleteFrom('receiver.sessions').where(column, '=', value).execute();
}

export const listSessions = (db: Db) =>
  db
    .selectFrom('receiver.sessions')
    .select(['actor', 'actor_name', 'roles', 'address', 'begun_at'])
    .where(isValid)
    .orderBy('begun_at', 'desc')
    .limit(500)
    .execute();

type Way = 'admin token' | 'identity provider';

export interface Entrance {
  /** Begins a session, after its entry in the access log. */
  enter: (req: Request, res: Response, user: User, way: Way) => Promise<void>;
  recordFailure: (req: Request, way: Way, reason: string, user?: Actor) => Promise<void>;
}

export function createEntrance(core: Core): Entrance {
  const { config, log } = core;
  const sourceOf = (req: Request) => addressOf(req, config.authentication.trustProxy);
  const entries = rateLimit({ points: 100, durationS: 3_600 });
  return {
    enter: async (req, res, user, way) => {
      const address = sourceOf(req);
      const actor = { id: user.id, name: user.name, address };
      await logAccess(core, { actor, action: 'sign-in', filter: { with: way, roles: user.roles } });
      const cookie = await beginSession(core, user, address);
      res.cookie(sessionCookie, cookie, { ...cookieOptions(req, config), maxAge: sessionMs });
    },
    recordFailure: async (req, way, reason, user = { id: 'unknown' }) => {
      log.limited('warn', { with: way, reason }, 'a sign-in to the console failed');
      try {
        // An attacker may have any number of addresses, and would fill the access log.
        entries.consume('all');
      } catch {
        return;
      }
      const actor = { ...user, address: sourceOf(req) };
      await logAccess(core, { actor, action: 'sign-in failed', filter: { with: way, reason } });
    },
  };
}
