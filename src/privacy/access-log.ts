import { hostname, userInfo } from 'node:os';
import { sql } from 'kysely';
import type { Core } from '../feature.ts';

/** The user who sees or does something. */
export interface Actor {
  /** `admin-token`, the subject of the identity provider, the user of a command, or `receiver`. */
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
  { db, log }: Pick<Core, 'db' | 'log'>,
  { actor, action, subjects = [], filter = {}, rows }: Access,
): Promise<void> {
  const { rows: added } = await sql<{ entry: string; subjects: string[] }>`
    insert into public.access_log (actor, actor_name, address, action, subjects, filter, rows)
    values (${actor.id}, ${actor.name ?? null}, ${actor.address ?? null}, ${action},
            array(select receiver.hash_of(s) from unnest(${[...subjects]}::text[]) s), ${JSON.stringify(filter)}::jsonb, ${rows ?? null})
    returning entry, subjects`
    .execute(db)
    .catch((cause: unknown) => {
      throw new Error('The access log could not be written, so nothing is shown or done', { cause });
    });
  const { entry, subjects: hashes } = added[0]!;
  const access = { entry: Number(entry), action, actor: actor.id, address: actor.address, rows };
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

export interface AccessFilter {
  /** The id or the name of an actor. */
  actor?: string | undefined;
  action?: string | undefined;
  /** Entries about one of these. */
  subjects?: readonly string[] | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

export interface AccessEntry {
  entry: string;
  at: Date;
  actor: string;
  actor_name: string | null;
  address: string | null;
  action: string;
  subjects: string[];
  filter: Record<string, unknown>;
  rows: number | null;
}

/** Entries of the access log, newest first. */
export async function listAccess(
  { db }: Pick<Core, 'db'>,
  { actor, action, subjects, since, until }: AccessFilter,
  limit: number,
): Promise<AccessEntry[]> {
  const hashes = sql<
    string[]
  >`array(select receiver.hash_of(s) from unnest(${[...(subjects ?? [])]}::text[]) s)`;
  return db
    .selectFrom('public.access_log')
    .selectAll()
    .$if(actor !== undefined, (query) =>
      query.where((or) => or.or([or('actor', '=', actor!), or('actor_name', '=', actor!)])),
    )
    .$if(action !== undefined, (query) => query.where('action', '=', action!))
    .$if(subjects !== undefined, (query) => query.where(sql<boolean>`subjects && ${hashes}`))
    .$if(since !== undefined, (query) => query.where('at', '>=', since!))
    .$if(until !== undefined, (query) => query.where('at', '<', until!))
    .orderBy('entry', 'desc')
    .limit(limit)
    .execute();
}
