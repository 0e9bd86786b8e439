import { sql } from 'kysely';
import type pg from 'pg';
import type { Role } from '../config/roles.ts';
import type { Db } from './tables.ts';

export interface User {
  /** `admin-token`, or the subject of the identity provider. */
  id: string;
  name?: string | undefined;
  role: Role;
}

/** How long a session of the console lasts, in seconds. */
export const sessionS = 8 * 60 * 60;

const isValid = `begun_at > now() - interval '${sessionS} s'`;

/**
 * The user of a session; undefined: there is none, it was ended or has expired.
 *
 * @throws the database's error
 */
export async function readSession(pool: pg.Pool, hash: Buffer, timeoutMs: number): Promise<User | undefined> {
  const text = `select actor as id, actor_name as name, role from console_sessions where hash = $1 and ${isValid}`;
  const { rows } = await pool.query<User>({ text, values: [hash], query_timeout: timeoutMs });
  return rows[0];
}

/** Begins a session, and deletes those that have expired. */
export async function beginSession(
  db: Db,
  hash: Buffer,
  { id, name, role }: User,
  address: string | undefined,
): Promise<void> {
  await sql`
    with expired as (delete from console_sessions where not (${sql.raw(isValid)}))
    insert into console_sessions (hash, actor, actor_name, role, address)
    values (${hash}, ${id}, ${name ?? null}, ${role}, ${address ?? null})`.execute(db);
}

/** Ends one session, at every receiver. */
export async function endSession(db: Db, hash: Buffer): Promise<void> {
  await sql`delete from console_sessions where hash = ${hash}`.execute(db);
}

/** Ends all sessions of a user, at every receiver. @param user an actor of the access log */
export async function endSessionsOf(db: Db, user: string): Promise<void> {
  await sql`delete from console_sessions where actor = ${user}`.execute(db);
}

/** A user with a session. */
export interface SignedIn {
  /** An actor of the access log. */
  user: string;
  name: string | null;
  /** The last sign-in. */
  at: Date;
  address: string | null;
}

/** Users who have a session, the last to sign in first. */
export async function listSignedIn(db: Db): Promise<SignedIn[]> {
  const { rows } = await sql<SignedIn>`
    select "user", name, at, address from (
      select distinct on (actor) actor as "user", actor_name as name, begun_at as at, address
      from console_sessions where ${sql.raw(isValid)} order by actor, begun_at desc
    ) as last
    order by at desc limit 500`.execute(db);
  return rows;
}
