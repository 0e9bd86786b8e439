import { sql } from 'kysely';

/** The entry is about one of these subjects. By an array: else PostgreSQL may look for the newest ones in all entries. */
export const isAbout = (subjects: readonly string[]) =>
  sql<boolean>`entry = any(array(select entry from public.access_log
    where subjects && array(select receiver.hash_of(s) from unnest(${subjects}::text[]) s)))`;
