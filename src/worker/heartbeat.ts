import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Family } from '../families/index.ts';
import type { Db } from '../store/tables.ts';

const everyMs = 15_000;

/** The row of this process in the table `workers`: others see which families have a worker. */
export function keepHeartbeat(db: Db, families: readonly Family[]) {
  const id = randomUUID();
  const names = families.map(({ name }) => name);
  return {
    everyMs,
    /** Removes the rows of workers that were killed, too. @throws the database's error */
    beat: async () => {
      await sql`
        with gone as (delete from workers where seen_at < now() - interval '1 hour')
        insert into workers (id, families, seen_at, uses_leases) values (${id}::uuid, ${names}, now(), true)
        on conflict (id) do update set seen_at = excluded.seen_at`.execute(db);
    },
    /** @throws the database's error */
    end: async () => {
      await sql`delete from workers where id = ${id}::uuid`.execute(db);
    },
  };
}
