import { join } from 'node:path';
import { replaceFile } from '../../common/durable-files.ts';
import { readTrusted } from '../../common/trusted-files.ts';

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
  const moved = readTrusted(file);
  if (moved === undefined) return;
  throw new Error(
    `The embedded database was moved ${moved.trim()}. Set DATABASE_URL to that server. If the move was ` +
      `interrupted, run receiver move again; to use this former copy nevertheless, delete ${file}`,
  );
}
