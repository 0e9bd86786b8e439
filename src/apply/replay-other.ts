import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { type Family, other } from '../families/index.ts';
import { createParser } from '../intake/parse-callback.ts';
import { Rejection } from '../intake/rejection.ts';
import { describeRefusal, isRefusedData } from '../store/faults.ts';
import type { Tables } from '../store/tables.ts';
import { type Applied, applyAgain, withPlanForAnySize } from './apply.ts';

interface Known {
  id: string;
  family: string;
}

/**
 * Gives deliveries of events that a family lists by now their rows in that family's table. One that does not fit the family
 * stays as it is, and is returned as failed.
 *
 * @param ids of applied deliveries of the family `other`
 * @param dryRun whether everything is rolled back
 * @throws the database's error when it is not about the data
 */
export async function replayOther(
  db: Kysely<Tables>,
  families: readonly Family[],
  ids: readonly string[],
  dryRun: boolean,
): Promise<Applied> {
  const { known, failed } = await recognize(db, families, ids);
  const move = (some: readonly Known[]) =>
    withPlanForAnySize(db, (tx) => moveToFamilies(tx, families, some), dryRun);
  try {
    return { applied: known.length, changed: await move(known), failed, broken: [] };
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && isRefusedData(error))) throw error;
  }
  const result: Applied = { applied: 0, changed: 0, failed, broken: [] };
  for (const one of known) {
    try {
      result.changed += await move([one]);
      result.applied += 1;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && isRefusedData(error))) throw error;
      failed.push({ id: one.id, error: describeRefusal(error) });
    }
  }
  return result;
}

/** The family of each delivery; those that do not fit theirs are `failed`. */
async function recognize(db: Kysely<Tables>, families: readonly Family[], ids: readonly string[]) {
  const parse = createParser(families);
  const { rows } = await sql<{ id: string; envelope: string }>`
    select id, envelope::text as envelope from inbox
    where id = any(${ids}::uuid[]) and envelope ? 'event_time' order by id`.execute(db);
  const known: Known[] = [];
  const failed: Applied['failed'] = [];
  for (const { id, envelope } of rows) {
    try {
      // It was acknowledged: no event is in the future any more.
      const { family } = parse(Buffer.from(envelope), Number.POSITIVE_INFINITY);
      known.push({ id, family: family.name });
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      const faults = error.errors.map(({ path, message }) => `${path} ${message}`.trim());
      failed.push({ id, error: faults.join('; ') });
    }
  }
  return { known, failed };
}

/** @returns the number of rows that are new or changed in the families' tables */
async function moveToFamilies(
  tx: Kysely<Tables>,
  families: readonly Family[],
  known: readonly Known[],
): Promise<number> {
  const ids = known.map(({ id }) => id);
  const names = known.map(({ family }) => family);
  // Before any row is locked: an erasure locks the table first, too.
  await sql`lock table erased in row share mode`.execute(tx);
  for (const table of ['applied_deliveries', 'inbox']) {
    await sql`
      update ${sql.table(table)} d set family = known.family
      from unnest(${ids}::uuid[], ${names}::text[]) as known (id, family)
      where d.id = known.id and d.family = ${other.name}`.execute(tx);
  }
  await sql`delete from ${sql.table(other.table)} where delivery_id = any(${ids}::uuid[])`.execute(tx);
  return applyAgain(tx, families, ids);
}
