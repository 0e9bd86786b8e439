import { sql } from 'kysely';
import type { Family } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import { addUp, type MovedSum, type Place, type Refolded, refoldNext } from './refold.ts';

const pass = 'fields';

/** Workers of a former version write rows as a whole: a pass beside one would have to be repeated. */
const formerGoneAfter = '1 minute';

/** A pass that is due: `place` is where its next step begins; undefined: at the beginning. */
export interface DuePass {
  place: Place | undefined;
}

/** Looks whether rows are to be made anew: once after an upgrade, and after a worker of a former version was seen. Changes nothing. */
export async function findDuePass(db: Db): Promise<DuePass | undefined> {
  const { rows } = await sql<{ family: string | null; after: string[] | null; isAgain: boolean }>`
    select family, after_key as after, coalesce(former_at > began_at, false) as "isAgain" from refolds
    where name = ${pass} and (family is not null or completed_at is null or former_at > coalesce(began_at, '-infinity'))
      and coalesce(former_at, '-infinity') < now() - ${formerGoneAfter}::interval`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { family, after, isAgain } = row;
  return { place: family && !isAgain ? { family, after: after ?? undefined } : undefined };
}

/**
 * Makes the next rows of a pass anew. It continues where it was, whichever process does it.
 *
 * @throws the database's error; the next call repeats the step
 */
export async function runDuePass(
  db: Db,
  families: readonly Family[],
  { place }: DuePass,
): Promise<Refolded & { isComplete: boolean }> {
  const { next, ...refolded } = await refoldNext(db, families, place);
  const isNew = place === undefined;
  const total = (column: string, more: number) =>
    sql`${sql.ref(column)} = case when ${isNew} then 0 else ${sql.ref(column)} end + ${more}`;
  await sql`
    update refolds set family = ${next?.family ?? null}, after_key = ${next?.after ? [...next.after] : null}::text[],
      began_at = case when ${isNew} then now() else began_at end,
      completed_at = case when ${next === undefined} then now() else completed_at end,
      ${total('records', refolded.records)}, ${total('changed', refolded.changed)}, ${total('unmended', refolded.unmended)},
      read_at = case when ${isNew} or ${refolded.unmended > 0} then null else read_at end
    where name = ${pass}`.execute(db);
  return { ...refolded, isComplete: next === undefined };
}

/**
 * Makes all rows anew at once.
 *
 * @param onStep called with how many records were looked at
 */
export async function refoldAll(
  db: Db,
  families: readonly Family[],
  { dryRun, onStep }: { dryRun: boolean; onStep?: (records: number) => void },
): Promise<Refolded> {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db);
  let total: Refolded = { records: 0, changed: 0, unmended: 0, moved: [] };
  for (let place: Place | undefined, isFirst = true; place || isFirst; isFirst = false) {
    const { next, ...step }: Awaited<ReturnType<typeof refoldNext>> = await refoldNext(db, families, place, {
      dryRun,
    });
    total = addUp(total, step);
    onStep?.(step.records);
    place = next;
  }
  if (!dryRun) {
    await sql`
      update refolds set family = null, after_key = null, began_at = ${rows[0]!.now}, completed_at = now(), read_at = null,
        records = ${total.records}, changed = ${total.changed}, unmended = ${total.unmended}
      where name = ${pass}`.execute(db);
  }
  return { ...total, moved: await addUpDays(db, total.moved) };
}

/** The rows of the families' tables. */
export async function countRecords(db: Db, families: readonly Family[]): Promise<number> {
  const counts = families.map(({ table }) => sql`(select count(*) from ${sql.table(table)})`);
  const { rows } = await sql<{
    count: number;
  }>`select (${sql.join(counts, sql` + `)})::float8 as count`.execute(db);
  return rows[0]!.count;
}

async function addUpDays(db: Db, moved: readonly MovedSum[]): Promise<MovedSum[]> {
  const { rows } = await sql<MovedSum>`
    select day::text, business_id, ${totals} from jsonb_to_recordset(${JSON.stringify(moved)}::jsonb) as m (
      day date, business_id text, net_before numeric, net_after numeric, paid_before numeric, paid_after numeric,
      due_before numeric, due_after numeric)
    group by day, business_id order by day, business_id`.execute(db);
  return rows;
}

const totals = sql.join(
  (['net', 'paid', 'due'] as const).flatMap((name) =>
    ['before', 'after'].map((side) => {
      const column = sql.ref(`${name}_${side}`);
      return sql`sum(${column})::text as ${column}`;
    }),
  ),
);

/** The days whose sums have changed that nobody has read yet, and how many records may lack something. */
export async function readMoved(db: Db): Promise<{ moved: MovedSum[]; unmended: number }> {
  const { rows: moved } = await sql<MovedSum>`
    select day::text, business_id, ${totals} from moved_sums where read_at is null
    group by day, business_id order by day, business_id`.execute(db);
  const { rows } = await sql<{ unmended: number }>`
    select unmended::float8 as unmended from refolds where name = ${pass}`.execute(db);
  return { moved, unmended: rows[0]?.unmended ?? 0 };
}

/** Somebody has read them: doctor and the console no longer say so. @returns how many days */
export async function markMovedRead(db: Db): Promise<number> {
  await sql`update refolds set read_at = now() where name = ${pass}`.execute(db);
  const { numAffectedRows } = await sql`update moved_sums set read_at = now() where read_at is null`.execute(
    db,
  );
  return Number(numAffectedRows);
}
