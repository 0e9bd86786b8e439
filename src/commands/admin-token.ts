import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { writeOnce } from '../write-once.ts';

export interface AdminToken {
  token: string;
  file: string;
  /** Whether it was made now, so that nobody has seen it yet. */
  isNew: boolean;
}

/**
 * The token of a service on the embedded database where none is set: made once, and kept beside the database.
 *
 * @returns undefined where one is set, or where the database is not ours
 * @throws Error where the file holds none; the system's error where DATA_DIR cannot be written
 */
export function provideAdminToken(
  config: Pick<Config, 'adminToken' | 'databaseUrl' | 'dataDir' | 'role'>,
): AdminToken | undefined {
  if (config.adminToken || config.databaseUrl || config.role === 'worker') return undefined;
  const file = join(config.dataDir, 'admin-token');
  mkdirSync(config.dataDir, { recursive: true });
  const isNew = writeOnce(file, `${randomBytes(18).toString('base64url')}\n`);
  const token = readFileSync(file, 'utf8').trim();
  if (token.length < 16) throw new Error(`${file} holds no token. Delete it, and a new one is made.`);
  return { token, file, isNew };
}
