import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../common/config/config.ts';
import { weaknessOf } from '../common/config/value-types.ts';
import { readOrCreate } from '../common/private-files.ts';
import { findPlace } from '../embedded/place.ts';

export type AdminToken = NonNullable<ReturnType<typeof provideAdminToken>>;

/**
 * The admin token of a service on the embedded database where ADMIN_TOKEN is unset. It is generated once and stored
 * beside the database.
 *
 * @returns `isNew`: whether this start generated it; undefined where ADMIN_TOKEN or DATABASE_URL is set
 * @throws Error where the file contains no token; the system's error where DATA_DIR cannot be written
 */
export function provideAdminToken(config: Pick<Config, 'adminToken' | 'databaseUrl' | 'dataDir' | 'role'>) {
  if (config.adminToken || config.databaseUrl || config.role === 'worker') return undefined;
  const file = join(config.dataDir, 'admin-token');
  findPlace(config.dataDir); // before a secret is written there
  const { content, isNew } = readOrCreate(file, () => `${randomBytes(18).toString('base64url')}\n`);
  if (weaknessOf(content))
    throw new Error(`${file} contains no valid token. Delete it: the next start generates a new one.`);
  return { token: content, file, isNew };
}
