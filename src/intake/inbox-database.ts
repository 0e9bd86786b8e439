import type { Log } from '../log.ts';
import { type Database, openDatabase } from '../store/database.ts';

/**
 * Connections of the inbox's own: nothing else keeps it waiting for one, and the server gives a statement up
 * when the inbox does (after a second), so that none stay behind where a table is locked. What it has
 * committed is on disk even where `synchronous_commit` is off for the database or the role.
 */
export function openInboxDatabase(url: string, log: Log): Database {
  return openDatabase(url, log, {
    connections: 4,
    name: 'receiver inbox',
    queryTimeoutMs: 1_000,
    settings: { lock_timeout: 800, synchronous_commit: 'on' },
  });
}
