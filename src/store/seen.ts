import { sql } from 'kysely';
import type { Db } from './tables.ts';

export interface Seen {
  seen_at: Date;
  /** An actor of the access log. */
  seen_by: string;
}

/** Who has marked a delivery as seen; undefined: nobody. */
export async function readSeen(db: Db, delivery: string): Promise<Seen | undefined> {
  const { rows } = await sql<Seen>`
    select seen_at, seen_by from seen_deliveries where id = ${delivery}::uuid`.execute(db);
  return rows[0];
}

/** Marks a delivery as seen, which ends the alerts about it; who did so first stays. */
export async function markSeen(tx: Db, delivery: string, actor: string): Promise<void> {
  await sql`
    insert into seen_deliveries (id, seen_by)
    select id, ${actor} from inbox where id = ${delivery}::uuid
    on conflict do nothing`.execute(tx);
}
