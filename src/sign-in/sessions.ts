import type pg from 'pg';
import { readSession, sessionS, type User } from '../store/sessions.ts';

export { hashOf, newSession } from './cookies.ts';

export const sessionMs = sessionS * 1000;

const maxRemembered = 1_000;
const timeoutMs = 5_000;

export type Sessions = ReturnType<typeof createSessions>;

/** The sessions of a database; those that this receiver has read are remembered, for an outage. */
export function createSessions(pool: pg.Pool) {
  const remembered = new Map<string, User>();
  return {
    /** @throws the database's error */
    read: async (hash: Buffer): Promise<User | undefined> => {
      const user = await readSession(pool, hash, timeoutMs);
      if (remembered.size >= maxRemembered) remembered.clear();
      if (user) remembered.set(hash.toString('hex'), user);
      else remembered.delete(hash.toString('hex'));
      return user;
    },
    /** The user of a session as it was read last. */
    recall: (hash: Buffer): User | undefined => remembered.get(hash.toString('hex')),
    forget: (hash: Buffer): void => void remembered.delete(hash.toString('hex')),
  };
}
