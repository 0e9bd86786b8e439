import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../common/private-files.ts';

const fileOf = (home: string) => join(home, 'moved');

/**
 * Marks an embedded database as moved, so that a start of the receiver does not accept callbacks into it.
 *
 * @param to the address of the server, without its password
 */
export function markMoved(home: string, to: string): void {
  replaceFile(fileOf(home), `to ${to} on ${new Date().toISOString()}\n`);
}

/** @throws Error where the database is marked as moved */
export function refuseMoved(home: string): void {
  const file = fileOf(home);
  if (!existsSync(file)) return;
  throw new Error(
    `The embedded database was moved ${readFileSync(file, 'utf8').trim()}. Set DATABASE_URL to that server. If the move was ` +
      `interrupted, run receiver move again; to use this former copy nevertheless, delete ${file}`,
  );
}
