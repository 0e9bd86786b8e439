import { sql } from 'kysely';
import type pg from 'pg';
import type { Db } from './tables.ts';

/** The longest that a session of the console lasts, in seconds. */
export const sessionS = 12 * 60 * 60;

const milliseconds = (time: string) => `floor(extract(epoch from ${time}) * 1000)::float8`;

export type SessionState = Awaited<ReturnType<typeof readSessionState>>;

/**
 * The facts that decide which sessions are valid.
 *
 * @param timeoutMs of the query
 * @returns the key that signs the cookies; the database's clock, in milliseconds; the ids of sessions that were ended; when
 *   all sessions of a user were ended, in milliseconds
 * @throws the database's error
 */
export async function readSessionState(pool: pg.Pool, timeoutMs: number) {
  const text = `
    select key, ${milliseconds('clock_timestamp()')} as now,
      array(select id from ended_sessions where kind = 'session' and until > now()) as sessions,
      (select jsonb_object_agg(id, ${milliseconds('ended_at')}) from ended_sessions
        where kind = 'user' and until > now()) as users
    from session_key`;
  type State = { key: Buffer; now: number; sessions: string[]; users: Record<string, number> | null };
  const { rows } = await pool.query<State>({ text, query_timeout: timeoutMs });
  const { key, now, sessions, users } = rows[0]!;
  return { key, now, sessions: new Set(sessions), users: new Map(Object.entries(users ?? {})) };
}

/** The database's clock, in milliseconds. */
export async function readClock(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`
    select ${sql.raw(milliseconds('clock_timestamp()'))} as now`.execute(db);
  return rows[0]!.now;
}

/** Ends one session, at every receiver. */
export const endSession = (db: Db, id: string): Promise<void> => end(db, 'session', id);

/** Ends all sessions that a user has begun. @param user an actor of the access log */
export const endSessionsOf = (db: Db, user: string): Promise<void> => end(db, 'user', user);

/** Ends every session: their cookies were signed with another key. */
export async function replaceSessionKey(db: Db): Promise<void> {
  await sql`update session_key set key = default, created_at = default`.execute(db);
}

async function end(db: Db, kind: 'session' | 'user', id: string): Promise<void> {
  // The clock at the statement: the transaction may have waited for the access log.
  await sql`
    with expired as (delete from ended_sessions where until < now())
    insert into ended_sessions (kind, id, ended_at, until)
    values (${kind}, ${id}, clock_timestamp(), clock_timestamp() + ${sessionS} * interval '1 s')
    on conflict (kind, id) do update set ended_at = excluded.ended_at, until = excluded.until`.execute(db);
}

/** A user who has signed in within the longest duration of a session. */
export interface SignedIn {
  /** An actor of the access log. */
  user: string;
  name: string | null;
  /** The last sign-in. */
  at: Date;
  address: string | null;
}

/** Users who may have a session, the last to sign in first. */
export async function listSignedIn(db: Db): Promise<SignedIn[]> {
  const { rows } = await sql<SignedIn>`
    select "user", name, at, address from (
      select distinct on (actor) actor as "user", actor_name as name, at, address
      from access_log where action = 'sign-in' and at > now() - ${sessionS} * interval '1 s'
      order by actor, at desc
    ) as last
    where at > (select created_at from session_key) and not exists (
      select from ended_sessions e where e.kind = 'user' and e.id = last."user" and e.ended_at >= last.at)
    order by at desc limit 500`.execute(db);
  return rows;
}
