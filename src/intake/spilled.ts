import { sql } from 'kysely';
import type pg from 'pg';
import type { Db } from '../store/tables.ts';
import type { Delivery } from './delivery.ts';

/** 16 MB with the largest bodies. */
const perStep = 64;
const pauseS = 5;

/** Stores deliveries beside inbox, in one commit. @throws the database's error */
export async function spillToTable(
  pool: pg.Pool,
  deliveries: readonly Delivery[],
  { timeoutMs, damage }: { timeoutMs: number; damage: string },
): Promise<void> {
  const text = `
    insert into spilled_deliveries (id, family, body, detail)
    select distinct on (id) id, family, body, $4 from unnest($1::uuid[], $2::text[], $3::bytea[]) as given (id, family, body)
    order by id
    on conflict (id) do nothing`;
  const lists = [
    deliveries.map(({ id }) => id),
    deliveries.map(({ family }) => family),
    deliveries.map(({ body }) => body),
  ];
  await pool.query({ text, values: [...lists, damage], query_timeout: timeoutMs });
}

/** Some of those that are to be moved to inbox. */
export async function listSpilled(db: Db): Promise<Delivery[]> {
  const { rows } = await sql<Delivery>`
    select id, family, body from spilled_deliveries where next_at <= now() order by next_at limit ${perStep}`.execute(
    db,
  );
  return rows;
}

/** They are in inbox. */
export async function removeSpilled(db: Db, ids: readonly string[]): Promise<void> {
  await sql`delete from spilled_deliveries where id = any(${ids}::uuid[])`.execute(db);
}

/** Their page is still damaged. */
export async function postponeSpilled(db: Db, ids: readonly string[]): Promise<void> {
  await sql`
    update spilled_deliveries set next_at = now() + ${pauseS} * interval '1 s' where id = any(${ids}::uuid[])`.execute(
    db,
  );
}
