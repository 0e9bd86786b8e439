import { randomBytes } from 'node:crypto';
import type { Role } from './rights.ts';
import type { SignedValues } from './signed-values.ts';

export interface User {
  /** `admin-token`, or the subject of the identity provider. */
  id: string;
  /** The name that the identity provider gives. */
  name?: string | undefined;
  role: Role;
  /** Whether the identity provider is asked again, see `createRecheck`. */
  recheck?: true | undefined;
}

export interface Session {
  user: User;
  /** Part of every form, so that another site cannot post one. */
  csrf: string;
}

export type Sessions = ReturnType<typeof createSessions>;

export const sessionS = 12 * 60 * 60;
export const sessionCookie = 'receiver_console';

/** Sessions are stored in a signed cookie only, so every receiver knows them. */
export function createSessions(values: SignedValues) {
  return {
    /**
     * A new session, as the value of its cookie, and how long that lasts.
     *
     * @param until when it ends at the latest, in milliseconds; after twelve hours it ends anyway
     */
    begin: (user: User, until = Number.POSITIVE_INFINITY, now = Date.now()) => {
      const expires = Math.min(until, now + sessionS * 1000);
      const id = randomBytes(16).toString('base64url');
      return { value: values.write('session', { id, user }, expires), maxAge: expires - now };
    },
    /** The session of a cookie's value; undefined if it is forged or expired. */
    read: (value: string | undefined, now = Date.now()): Session | undefined => {
      const content = values.read<{ user: User }>('session', value, now);
      return content && { user: content.user, csrf: values.sign('form', value!) };
    },
  };
}

/** The value of a cookie in a Cookie header. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  return new RegExp(`(?:^|;) *${name}=([^;]*)`).exec(header ?? '')?.[1];
}
