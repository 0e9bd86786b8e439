import { CompiledQuery, type Kysely, sql } from 'kysely';
import { applyStatement } from '../../src/apply/apply-statement.ts';
import { families } from '../../src/families/index.ts';
import type { Tables } from '../../src/store/tables.ts';
import { generators } from './generators.ts';

const job = 200;
const statement = applyStatement(families, 'failed');

/** A receipt has this many deliveries, those of consent forms and review requests included. */
export const deliveriesPerReceipt = 1.52;

export interface Volume {
  receipts: number;
  days: number;
}

/**
 * Fills the tables day by day as the receiver does: deliveries in the order of arrival, rows by the families'
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
    with callbacks as materialized (
      select distinct on (id) * from bench.callbacks_of(${day}, ${perDay}, ${days}) order by id
    ), stored as (
      insert into inbox (id, event, family, client_id, business_id, event_time, envelope, received_at)
      select id, envelope->>'event', family, envelope->>'client_id', envelope->>'business_id', event_time,
             envelope, received_at
      from callbacks
      order by received_at
      on conflict (id) do nothing
      returning id
    ), resent as (
      insert into resends (id, count, last_received_at)
      select id, copies - 1, received_at from callbacks join stored using (id) where copies > 1
    )
    insert into failed_deliveries (id, family, received_at, error, applied_at)
    select id, family, received_at, '', received_at + lag from callbacks join stored using (id)
    order by received_at
    returning id`.execute(db);
  return rows.map(({ id }) => id);
}

function apply(db: Kysely<Tables>, ids: string[]): Promise<void> {
  return db.transaction().execute(async (tx) => {
    // Deliveries that failed, because only these can have been applied before, at a given time.
    // In jobs of the usual size: one job per day would store each business's rows next to each other.
    for (let at = 0; at < ids.length; at += job) {
      await tx.executeQuery(CompiledQuery.raw(statement, [ids.slice(at, at + job)]));
    }
  });
}
