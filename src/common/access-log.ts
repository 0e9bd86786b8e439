import { hostname, userInfo } from 'node:os';
import type pg from 'pg';
import type { Log } from './log.ts';

/** The user who sees or does something. */
export interface Actor {
  /** `admin-token`, the subject of the identity provider, or the user of a command. */
  id: string;
  name?: string | undefined;
  /** The address of the request, or the host of a command. */
  address?: string | undefined;
}

export interface Access {
  actor: Actor;
  /** What was done, such as `reveal`, `export` or `erase`. */
  action: string;
  /** The subjects of the patients, see families/subjects.ts; the log has their salted hashes. */
  subjects?: readonly string[];
  /** The selection, without personal data. */
  filter?: Record<string, unknown>;
  /** How much was shown. */
  rows?: number;
}

const maxInLine = 100;

/**
 * Adds an entry to the access log, and to the log of the process, which the owner of the database cannot change. Data may be
 * shown only after it: where it cannot be written, nothing is shown.
 *
 * @throws the database's error, with what to do
 */
export async function logAccess(
  { pool, log }: { pool: pg.Pool; log: Log },
  { actor, action, subjects = [], filter = {}, rows }: Access,
): Promise<void> {
  const { id, name = null, address = null } = actor;
  const { rows: added } = await pool
    .query<{ entry: string; subjects: string[] }>(
      `insert into public.access_log (actor, actor_name, address, action, subjects, filter, rows)
       values ($1, $2, $3, $4, array(select receiver.hash_of(s) from unnest($5::text[]) s), $6, $7) returning entry, subjects`,
      [id, name, address, action, subjects, filter, rows ?? null],
    )
    .catch((cause: unknown) => {
      throw new Error('The access log could not be written, so nothing is shown or done', { cause });
    });
  const { entry, subjects: hashes } = added[0]!;
  const access = { entry: Number(entry), action, actor: id, address, rows };
  log.info(
    { access: { ...access, subjects: hashes.slice(0, maxInLine), subjectCount: hashes.length } },
    'access log',
  );
}

/** The actor of a command: the user of the operating system. */
export function commandActor(): Actor {
  return { id: `command:${userName()}`, address: hostname() };
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
