import { sql } from 'kysely';
import type { Core } from '../receiver/feature.ts';
import { gate } from '../receiver/store/insert-deliveries.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import type { Db } from '../receiver/store/tables.ts';

/**
 * Keeps a patient's data from retention, and withheld data from destruction. It waits for a step of retention or of an
 * erasure, as an insert does: none of a record misses it.
 *
 * @returns whether it is new
 */
export async function holdPatient(core: Core, actor: Actor, subjects: readonly string[]): Promise<boolean> {
  await logAccess(core, { actor, action: 'hold', subjects });
  const { rows } = await sql`
    with ${sql.raw(gate)}
    insert into receiver.holds (hash, actor) select receiver.hash_of(s), ${actor.id} from unnest(${subjects}::text[]) s
    on conflict do nothing returning hash`.execute(core.db);
  return rows.length > 0;
}

const holdsOf = (subjects: readonly string[]) =>
  sql<boolean>`hash in (select receiver.hash_of(s) from unnest(${subjects}::text[]) s)`;

export async function isHeld(db: Db, subjects: readonly string[]): Promise<boolean> {
  const holds = db.selectFrom('receiver.holds').select('hash').where(holdsOf(subjects));
  return (await holds.executeTakeFirst()) !== undefined;
}

/** @returns whether there was a hold */
export async function releasePatient(
  core: Core,
  actor: Actor,
  subjects: readonly string[],
): Promise<boolean> {
  await logAccess(core, { actor, action: 'release', subjects });
  const released = core.db.deleteFrom('receiver.holds').where(holdsOf(subjects)).returning('hash');
  return (await released.execute()).length > 0;
}
