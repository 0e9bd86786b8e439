import { type Kysely, sql } from 'kysely';
import { InvalidConfiguration } from '../config.ts';
import type { Tables } from './tables.ts';

/**
 * Requires a database that can store every character: callbacks contain text in any script.
 *
 * @throws InvalidConfiguration where its encoding is not UTF8
 */
export async function requireUtf8(db: Kysely<Tables>): Promise<void> {
  const { rows } = await sql<{ encoding: string; name: string }>`
    select current_setting('server_encoding') as encoding, quote_ident(current_database()) as name`.execute(
    db,
  );
  const { encoding, name } = rows[0]!;
  if (encoding === 'UTF8') return;
  throw new InvalidConfiguration([
    `DATABASE_URL leads to a database whose encoding is ${encoding}; it must be UTF8. Create another: ` +
      `create database ${name}_utf8 encoding 'UTF8' template template0`.replace('"_utf8', '_utf8"'),
  ]);
}
