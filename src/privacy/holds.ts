import { sql } from 'kysely';
import type { Core } from '../receiver/feature.ts';

/** Keeps a patient's data from retention and its withheld data from destruction. @returns whether it is new */
export async function holdPatient(
  { db }: Core,
  subjects: readonly string[],
  actor: string,
): Promise<boolean> {
  const { rows } = await sql`
    insert into receiver.holds (hash, actor) select receiver.hash_of(s), ${actor} from unnest(${[...subjects]}::text[]) s
    on conflict do nothing returning hash`.execute(db);
  return rows.length > 0;
}

/** Those of these subjects that have a hold. */
export async function heldOf({ db }: Core, subjects: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ subject: string }>`
    select s as subject from unnest(${[...subjects]}::text[]) s join receiver.holds on hash = receiver.hash_of(s)`.execute(
    db,
  );
  return rows.map(({ subject }) => subject);
}

/** @returns whether there was a hold */
export async function releasePatient({ db }: Core, subjects: readonly string[]): Promise<boolean> {
  const { rows } = await sql`
    delete from receiver.holds
    where hash in (select receiver.hash_of(s) from unnest(${[...subjects]}::text[]) s) returning hash`.execute(
    db,
  );
  return rows.length > 0;
}
