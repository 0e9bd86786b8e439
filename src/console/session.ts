import { createHmac, randomBytes } from 'node:crypto';
import { isSameSecret } from '../secret.ts';

export interface Session {
  /** Part of every form, so that another site cannot post one. */
  csrf: string;
}

export type Sessions = ReturnType<typeof createSessions>;

export const sessionS = 12 * 60 * 60;
export const cookieName = 'receiver_console';

/**
 * Sessions are stored in a signed cookie only, so every receiver knows them. The key is derived from the admin
 * token: another token ends them all.
 */
export function createSessions(adminToken: string) {
  const key = createHmac('sha256', adminToken).update('console session').digest();
  const sign = (what: string, text: string) =>
    createHmac('sha256', key).update(`${what}:${text}`).digest('base64url');
  return {
    /** A new session, as the value of its cookie. */
    begin: (now = Date.now()) => {
      const id = `${now + sessionS * 1000}.${randomBytes(16).toString('base64url')}`;
      return `${id}.${sign('session', id)}`;
    },
    /** The session of a cookie's value; undefined if it is forged or expired. */
    read: (value: string | undefined, now = Date.now()): Session | undefined => {
      const [, id, expires, signature] = /^((\d+)\.[\w-]+)\.([\w-]+)$/.exec(value ?? '') ?? [];
      if (!id || !isSameSecret(signature!, sign('session', id)) || Number(expires) <= now) return undefined;
      return { csrf: sign('form', id) };
    },
  };
}

/** The value of the session's cookie in a Cookie header. */
export function readCookie(header: string | undefined): string | undefined {
  return new RegExp(`(?:^|;) *${cookieName}=([^;]*)`).exec(header ?? '')?.[1];
}
