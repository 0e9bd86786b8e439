import { sql } from 'kysely';
import type { Db } from '../receiver/store/tables.ts';

/**
 * Keeps which businesses send no more than usual, since reporting.silence reads months of callbacks: a key has the business, the
 * families, and whether it sends none at all; `last_at` is the time of its last callback.
 */
export async function recordSilence(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('receiver.counters').where('name', '=', 'silence').execute();
    await sql`
      insert into receiver.counters (name, key, count, first_at, last_at)
      select 'silence', jsonb_build_array(business_id, string_agg(family, ', ' order by family) filter (where out_of_the_ordinary),
               bool_and(out_of_the_ordinary)), count(*) filter (where out_of_the_ordinary),
             now() - max(present_gap) filter (where out_of_the_ordinary), now() - min(present_gap)
      from reporting.silence group by business_id having bool_or(out_of_the_ordinary)`.execute(tx);
  });
}
