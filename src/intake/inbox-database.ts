import type { Log } from '../log.ts';
import { databaseTimeoutMs } from '../store/circuits.ts';
import { type Database, openDatabase } from '../store/database.ts';

/**
 * Connections of the inbox alone, so that no other work delays a commit. The server cancels a statement when the inbox
 * gives it up, so that none accumulate behind a locked table. A commit is on disk even where `synchronous_commit` is
 * off for the database or the role.
 */
export function openInboxDatabase(url: string, log: Log): Database {
  return openDatabase(url, log, {
    connections: 4,
    name: 'receiver inbox',
    queryTimeoutMs: databaseTimeoutMs,
    settings: { lock_timeout: databaseTimeoutMs * 0.8, synchronous_commit: 'on' },
  });
}
