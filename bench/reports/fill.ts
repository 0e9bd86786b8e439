import { type Kysely, sql, type Transaction } from 'kysely';
import { families } from '../../src/families/index.ts';
import type { Tables } from '../../src/store/tables.ts';
import { applyTogether } from '../../src/worker/apply.ts';
import { generators } from './generators.ts';

const job = 200;

export interface Volume {
  receipts: number;
  days: number;
}

/**
 * Fills the tables day by day, as the service would have: deliveries in the order of their arrival, their
 * rows by the families' own statements. Of the receipts 30 % are updated and 2 % deleted, now or within five
 * days; consent forms and review requests are a tenth of the receipts each; 100 businesses, the largest of
 * which has an eighth of everything.
 */
export async function fill(
  db: Kysely<Tables>,
  volume: Volume,
  onDay: (day: number, deliveries: number) => void,
): Promise<void> {
  await sql.raw(generators).execute(db);
  const perDay = Math.round(volume.receipts / volume.days);
  let deliveries = 0;
  for (let day = 0; day < volume.days; day += 1) {
    deliveries += await db.transaction().execute((tx) => fillDay(tx, day, perDay, volume.days));
    onDay(day + 1, deliveries);
  }
}

async function fillDay(tx: Transaction<Tables>, day: number, perDay: number, days: number): Promise<number> {
  const { rows } = await sql<{ id: string; family: string }>`
    insert into deliveries (id, event, family, client_id, business_id, event_time, envelope, status,
                            delivery_count, received_at, last_received_at, applied_at)
    select id, envelope->>'event', family, envelope->>'client_id', envelope->>'business_id', event_time,
           envelope, 'received', copies, received_at, received_at, received_at + lag
    from bench.callbacks_of(${day}, ${perDay}, ${days})
    order by received_at
    on conflict (id) do nothing
    returning id, family`.execute(tx);
  // In jobs of a usual size: one for the whole day would lay each business's rows side by side.
  for (const family of families) {
    const own = rows.filter((row) => row.family === family.name).map(({ id }) => id);
    for (let at = 0; at < own.length; at += job) {
      await applyTogether(tx, [family], own.slice(at, at + job), ['received']);
    }
  }
  return rows.length;
}
