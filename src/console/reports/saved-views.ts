import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../store/tables.ts';
import { BadInput } from '../errors.ts';

export interface SavedView {
  name: string;
  /** Below /console. */
  address: string;
}

const most = 50;

/** The pages that a person has saved, by name. */
export async function listViews(db: Kysely<Tables>, owner: string): Promise<SavedView[]> {
  const { rows } = await sql<SavedView>`
    select name, address from saved_views where owner = ${owner} order by lower(name), name`.execute(db);
  return rows;
}

/**
 * Saves a page, in place of one with the same name.
 *
 * @throws BadInput where the person has saved too many
 */
export async function saveView(
  db: Kysely<Tables>,
  owner: string,
  { name, address }: SavedView,
): Promise<void> {
  const { numAffectedRows } = await sql`
    insert into saved_views (owner, name, address)
    select ${owner}, ${name}, ${address}
    where (select count(*) from saved_views where owner = ${owner} and name <> ${name}) < ${most}
    on conflict (owner, name) do update set address = excluded.address`.execute(db);
  if (!numAffectedRows) throw new BadInput(`You have ${most} saved pages. Delete one first.`);
}

export async function deleteView(db: Kysely<Tables>, owner: string, name: string): Promise<void> {
  await sql`delete from saved_views where owner = ${owner} and name = ${name}`.execute(db);
}
