import { hostname, userInfo } from 'node:os';
import { sql } from 'kysely';
import type { Log } from '../../common/log.ts';
import type { Db } from './tables.ts';

export interface Actor {
  /** The subject of the identity provider, or one of `isOwnActor`. */
  id: string;
  name?: string | undefined;
  /** The address of the request, or the host of a command. */
  address?: string | undefined;
}

const own = /^\s*(admin-token|unknown|worker|platform|changes-token|destination|command:.*|)\s*$/is;

/** Ids and names of actors which are no persons: no user may have them. */
export const isOwnActor = (text: string): boolean => own.test(text);

export interface Access {
  actor: Actor;
  /** Such as `reveal`, `export` or `erase`. */
  action: string;
  /** The subjects of the patients, see callbacks/subjects.ts; the log has their salted hashes. */
  subjects?: readonly string[];
  /** The selection, without typed text. */
  filter?: Record<string, unknown>;
  /** Ids in the selection that exist: the log has their salted hashes. What else is typed may be a name or a phone. */
  ids?: Record<string, string | null | undefined>;
  rows?: number;
}

const maxInLine = 100;

/**
 * Adds an entry to the access log, and to the log of the process, which the owner of the database cannot change. Data may be
 * shown only after it.
 *
 * @throws Error: nothing may be shown
 */
export async function logAccess(
  { db, log }: { db: Db; log: Log },
  { actor, action, subjects = [], filter = {}, ids = {}, rows }: Access,
): Promise<void> {
  const { id, name = null, address = null } = actor;
  const hashedIds = sql`(select coalesce(jsonb_object_agg(key, receiver.hash_of('i:' || value)), '{}') from jsonb_each_text(${ids}))`;
  const entry = await db
    .insertInto('public.access_log')
    .values({
      actor: id,
      actor_name: name,
      address,
      action,
      subjects: sql`array(select receiver.hash_of(s, salt.value) from unnest(${subjects}::text[]) s, receiver.settings salt where salt.name = 'salt')`,
      filter: sql`${filter}::jsonb || ${hashedIds}`,
      rows: rows ?? null,
    })
    .returning(['entry', sql<string[]>`subjects[1:${sql.lit(maxInLine)}]`.as('hashes')])
    .executeTakeFirstOrThrow()
    .catch((cause: unknown) => {
      throw new Error('The access log could not be written, so nothing is shown or done', { cause });
    });
  const access = { entry: Number(entry.entry), action, actor: id, address, rows };
  log.info({ access: { ...access, subjects: entry.hashes, subjectCount: subjects.length } }, 'access log');
}

export function commandActor(): Actor {
  let user = `uid ${process.getuid?.() ?? 'unknown'}`;
  try {
    user = userInfo().username;
  } catch {} // a container may run as a user without a name
  return { id: `command:${user}`, address: hostname() };
}
