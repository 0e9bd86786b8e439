import { sql } from 'kysely';
import type { Db } from '../receiver/store/tables.ts';

/** The entry is about one of these subjects. By an array: else PostgreSQL may look for the newest ones in all entries. */
export const isAbout = (subjects: readonly string[]) =>
  sql<boolean>`entry = any(array(select entry from public.access_log
    where subjects && array(select receiver.hash_of(s) from unnest(${subjects}::text[]) s)))`;

/** Entries of the access log, newest first. */
export const listAccess = (
  db: Db,
  { subjects }: { subjects?: readonly string[] | undefined },
  limit: number,
) =>
  db
    .selectFrom('public.access_log')
    .select(['entry', 'at', 'actor', 'actor_name', 'address', 'action', 'filter', 'rows'])
    .select(sql<number>`cardinality(subjects)`.as('patients'))
    .$if(subjects !== undefined, (query) => query.where(isAbout(subjects!)))
    .orderBy('entry', 'desc')
    .limit(limit)
    .execute();
