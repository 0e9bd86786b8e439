import { sql } from 'kysely';
import type { Db } from '../receiver/store/tables.ts';

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
  /** How many patients it names; null: several hundred or more, which a list does not read. */
  patients: number | null;
  filter: Record<string, unknown>;
  rows: number | null;
}

// Without reading megabytes of hashes for each large download.
const count = 'case when pg_column_size(subjects) < 20000 then cardinality(subjects) end';
const patientCount = sql.raw<number | null>(count).as('patients');

/** Entries of the access log, newest first, without the hashes of patients. */
export async function listAccess(
  db: Db,
  { actor, action, subjects, since, until }: AccessFilter,
  limit: number,
): Promise<AccessEntry[]> {
  let query = db
    .selectFrom('public.access_log')
    .select(['entry', 'at', 'actor', 'actor_name', 'address', 'action', 'filter', 'rows', patientCount]);
  if (actor !== undefined)
    query = query.where((or) => or.or([or('actor', '=', actor), or('actor_name', '=', actor)]));
  if (action !== undefined) query = query.where('action', '=', action);
  if (subjects) {
    const hashes = sql`array(select receiver.hash_of(s) from unnest(${subjects}::text[]) s)`;
    query = query.where(sql<boolean>`subjects && ${hashes}`);
  }
  if (since) query = query.where('at', '>=', since);
  if (until) query = query.where('at', '<', until);
  return query.orderBy('entry', 'desc').limit(limit).execute();
}
