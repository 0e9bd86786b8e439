import { sql } from 'kysely';
import { type Family, other } from '../families/index.ts';
import { recordsOf } from '../families/sql.ts';
import { createParser } from '../intake/parse-callback.ts';
import { Rejection } from '../receiver/intake/rejection.ts';
import { recordChanges } from '../store/changed-records.ts';
import { describeRefusal, isRefusal } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';
import { withPlanForAnySize } from '../store/transactions.ts';
import { type Applied, applyAgain } from './apply.ts';

interface Known {
  id: string;
  family: string;
}

/**
 * Applies unknown events for which a family has since been added. One that does not fit the family
 * stays as it is, and is returned as failed.
 *
 * @param ids of applied deliveries of the family `other`
 */
export async function replayOther(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
  dryRun: boolean,
): Promise<Applied> {
  const { known, failed } = await recognize(db, families, ids);
  const result: Applied = { applied: 0, changed: 0, failed, broken: [], blocked: [] };
  const move = async (some: readonly Known[]) => {
    const run = (tx: Db) => moveToFamilies(tx, families, some);
    const { changed, erased } = await withPlanForAnySize(db, run, { dryRun });
    result.applied += some.length - erased.length;
    result.changed += changed;
    failed.push(...erased.map((id) => ({ id, error: 'it is about something that was erased' })));
  };
  try {
    await move(known);
    return result;
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  for (const one of known) {
    try {
      await move([one]);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      failed.push({ id: one.id, error: describeRefusal(error) });
    }
  }
  return result;
}

/** The family of each delivery; those that do not fit theirs are `failed`. */
async function recognize(db: Db, families: readonly Family[], ids: readonly string[]) {
  const parse = createParser(families);
  const { rows } = await sql<{ id: string; envelope: string }>`
    select id, envelope::text as envelope from inbox
    where id = any(${ids}::uuid[]) order by id`.execute(db);
  const known: Known[] = [];
  const failed: Applied['failed'] = [];
  for (const { id, envelope } of rows) {
    try {
      const { family } = parse(Buffer.from(envelope));
      known.push({ id, family: family.name });
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      failed.push({ id, error: error.describe() });
    }
  }
  return { known, failed };
}

/**
 * @returns the number of rows `changed` in the families' tables; `erased`: the ids of what stays, because its record, which
 *   the family tells, was erased
 */
async function moveToFamilies(tx: Db, families: readonly Family[], known: readonly Known[]) {
  // Before any row is locked: an erasure locks the table first, too.
  await sql`lock table erased in row share mode`.execute(tx);
  const erased = await findErased(tx, known);
  const moving = known.filter(({ id }) => !erased.includes(id));
  const ids = moving.map(({ id }) => id);
  for (const table of ['applied_deliveries', 'inbox']) {
    await sql`
      update ${sql.table(table)} d set family = known.family from ${rowsOf(moving)}
      where d.id = known.id and d.family = ${other.name}`.execute(tx);
  }
  await sql`
    with gone as (
      delete from ${sql.table(other.table)} where delivery_id = any(${ids}::uuid[]) returning business_id, delivery_id
    )
    ${sql.raw(recordChanges('deleted', recordsOf(other, 'gone')))}`.execute(tx);
  return { changed: await applyAgain(tx, families, ids), erased };
}

const rowsOf = (known: readonly Known[]) =>
  sql`jsonb_to_recordset(${JSON.stringify(known)}::jsonb) as known (id uuid, family text)`;

async function findErased(tx: Db, known: readonly Known[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select refused_deliveries(array_agg(id), array_agg(known.family),
                              array_agg(envelope || jsonb_build_object('event_time', extract(epoch from event_time))),
                              array_agg(to_jsonb(patients_of(envelope, patients)))) as id
    from ${rowsOf(known)} join inbox using (id)`.execute(tx);
  return rows.map(({ id }) => id);
}
