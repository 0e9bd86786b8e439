import { type Kysely, sql } from 'kysely';
import { applyTogether } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import type { Tables } from '../../src/store/tables.ts';
import { generators } from './generators.ts';

const job = 200;

export interface Volume {
  receipts: number;
  days: number;
}

/**
 * Fills the tables day by day as the service does: deliveries in the order of arrival, rows by the families'
 * statements. 30 % of the receipts are updated and 2 % deleted within five days. Consent forms and review requests
 * are a tenth of the receipts each. The largest of 100 businesses has an eighth of everything.
 */
export async function fill(
  db: Kysely<Tables>,
  volume: Volume,
  onDay: (day: number, deliveries: number) => void,
): Promise<void> {
  await sql.raw(generators).execute(db);
  const perDay = Math.round(volume.receipts / volume.days);
  let deliveries = 0;
  let applied = Promise.resolve();
  for (let day = 0; day < volume.days; day += 1) {
    const ids = await insertDay(db, day, perDay, volume.days);
    await applied;
    // In parallel with the inserts of the next day.
    applied = apply(db, ids);
    deliveries += ids.length;
    onDay(day + 1, deliveries);
  }
  await applied;
}

async function insertDay(db: Kysely<Tables>, day: number, perDay: number, days: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into deliveries (id, event, family, client_id, business_id, event_time, envelope, status,
                            delivery_count, received_at, last_received_at, applied_at)
    select id, envelope->>'event', family, envelope->>'client_id', envelope->>'business_id', event_time,
           envelope, 'received', copies, received_at, received_at, received_at + lag
    from bench.callbacks_of(${day}, ${perDay}, ${days})
    order by received_at
    on conflict (id) do nothing
    returning id`.execute(db);
  return rows.map(({ id }) => id);
}

function apply(db: Kysely<Tables>, ids: string[]): Promise<void> {
  return db.transaction().execute(async (tx) => {
    // In jobs of the usual size: one job per day would store each business's rows next to each other.
    for (let at = 0; at < ids.length; at += job) {
      await applyTogether(tx, families, ids.slice(at, at + job), ['received']);
    }
  });
}
