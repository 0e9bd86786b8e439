import { randomBytes } from 'node:crypto';
import type { Role } from '../config/roles.ts';
import { sessionS } from '../store/sessions.ts';
import type { SessionStore } from './session-store.ts';
import type { SignedValues } from './signed-values.ts';

export interface User {
  /** `admin-token`, or the subject of the identity provider. */
  id: string;
  name?: string | undefined;
  role: Role;
  /** Whether the identity provider is asked again, see `createRecheck`. */
  recheck?: true | undefined;
}

export interface Session {
  id: string;
  user: User;
  /** Part of every form, so that another site cannot post one. */
  csrf: string;
}

export type Sessions = ReturnType<typeof createSessions>;

const sessionMs = sessionS * 1000;
/** How far the clocks that a session is begun and read by may differ. */
const skewMs = 60_000;

/** `begun`: in milliseconds by the database's clock. */
type Content = Omit<Session, 'csrf'> & { begun: number };

/** Sessions are in a signed cookie, so every receiver knows them; those that were ended are in the database. */
export function createSessions(values: SignedValues, store: Pick<SessionStore, 'now' | 'isEnded'>) {
  return {
    /** The value of a new session's cookie, and how long it lasts. @param begun in milliseconds, by the database's clock */
    begin: (user: User, begun = store.now()) => {
      const content: Content = { id: randomBytes(16).toString('base64url'), user, begun };
      return { value: values.write('session', content, begun + sessionMs), maxAge: sessionMs };
    },
    /** The session of a cookie's value; undefined if it is forged, expired, older than twelve hours or ended. */
    read: (value: string | undefined, now = store.now()): Session | undefined => {
      const content = values.read<Content>('session', value, now);
      if (!content) return undefined;
      const { id, user, begun } = content;
      const isRecent = begun <= now + skewMs && now < begun + sessionMs;
      if (!isRecent || store.isEnded(id, user.id, begun)) return undefined;
      return { id, user, csrf: values.sign('form', value!) };
    },
  };
}
