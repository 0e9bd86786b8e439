import { type Selectable, sql } from 'kysely';
import type { Db, Tables } from '../receiver/store/tables.ts';

export interface AccessFilter {
  /** The id or the name of an actor. */
  actor?: string | undefined;
  action?: string | undefined;
  subjects?: readonly string[] | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

export interface AccessEntry extends Omit<Selectable<Tables['public.access_log']>, 'subjects'> {
  /** How many patients it names; null: several hundred or more, which a list does not read. */
  patients: number | null;
}

// Without reading megabytes of hashes for each large download.
const patientCount = sql<
  number | null
>`case when pg_column_size(subjects) < 20000 then cardinality(subjects) end`.as('patients');

/** The entry is about one of these subjects. By an array: else PostgreSQL may look for the newest ones in all entries. */
export const isAbout = (subjects: readonly string[]) =>
  sql<boolean>`entry = any(array(select entry from public.access_log
    where subjects && array(select receiver.hash_of(s) from unnest(${subjects}::text[]) s)))`;

/** Entries of the access log, newest first. */
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
  if (subjects) query = query.where(isAbout(subjects));
  if (since) query = query.where('at', '>=', since);
  if (until) query = query.where('at', '<', until);
  return query.orderBy('entry', 'desc').limit(limit).execute();
}
