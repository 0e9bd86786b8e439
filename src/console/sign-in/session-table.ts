import { sql } from 'kysely';
import type { Role } from '../../common/config/value-types.ts';
import type { Core } from '../../receiver/feature.ts';
import type { Db } from '../../receiver/store/tables.ts';

export interface SignedIn {
  /** An actor of the access log. */
  id: string;
  name?: string | null | undefined;
  roles: readonly Role[];
}

/** How long a session lasts. */
export const sessionMs = 8 * 3_600_000;
const timeoutMs = 5_000;
const isValid = `begun_at > now() - interval '${sessionMs} ms'`;

/** The user of a session; undefined: there is none, it was ended or has expired. @throws the database's error */
export async function readSession({ pool }: Core, hash: Buffer): Promise<SignedIn | undefined> {
  const text = `select actor as id, actor_name as name, roles from receiver.sessions where hash = $1 and ${isValid}`;
  const { rows } = await pool.query<SignedIn>({ text, values: [hash], query_timeout: timeoutMs });
  return rows[0];
}

/** Begins a session, and deletes those that have expired. */
export async function beginSession(
  db: Db,
  hash: Buffer,
  { id, name, roles }: SignedIn,
  address: string,
): Promise<void> {
  await sql`delete from receiver.sessions where not (${sql.raw(isValid)})`.execute(db);
  const session = { hash, actor: id, actor_name: name ?? null, roles: [...roles], address };
  await db.insertInto('receiver.sessions').values(session).execute();
}

/** Ends a session, or all of a user. */
export async function endSessions(db: Db, whose: { hash: Buffer } | { actor: string }): Promise<void> {
  const [[column, value]] = Object.entries(whose) as [['hash' | 'actor', Buffer | string]];
  await db.deleteFrom('receiver.sessions').where(column, '=', value).execute();
}

/** The sessions, the last sign-in first. */
export const listSessions = (db: Db) =>
  db
    .selectFrom('receiver.sessions')
    .select(['actor', 'actor_name', 'roles', 'address', 'begun_at'])
    .where(sql<boolean>`${sql.raw(isValid)}`)
    .orderBy('begun_at', 'desc')
    .limit(500)
    .execute();
