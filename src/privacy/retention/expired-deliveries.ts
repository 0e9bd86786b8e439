import { type RawBuilder, sql } from 'kysely';
import { idAt } from '../../common/uuid.ts';
import type { Family } from '../../families/index.ts';
import type { Db } from '../../store/tables.ts';
import { deleteDeliveries } from '../delete-deliveries.ts';
import { lockHolds, namesHeld, type Pass, type Step } from './policy.ts';

const perScan = 20_000;
const perStep = 500;

/** Deletes deliveries with everything derived from them, except for pending ones. */
export async function* deleteExpired({ db, families, cutoffs, inTransaction }: Pass): AsyncGenerator<Step> {
  const expiring = families.filter(({ name }) => cutoffs[name]);
  if (expiring.length === 0) return;
  const end = new Date(Math.max(...expiring.map(({ name }) => cutoffs[name]!.getTime())));
  for await (const found of scan(db, end, isExpired(expiring, cutoffs))) {
    for (const family of expiring) {
      const ids = found.filter((one) => one.family === family.name).map(({ id }) => id);
      for (let at = 0; at < ids.length; at += perStep) {
        const some = ids.slice(at, at + perStep);
        yield [family.name, await inTransaction((tx) => deleteSome(tx, family, some, cutoffs[family.name]!))];
      }
    }
    if (found.length === 0) yield [expiring[0]!.name, {}];
  }
}

async function deleteSome(tx: Db, family: Family, ids: readonly string[], cutoff: Date) {
  await lockHolds(tx);
  // Receivers count resends in the order of ids, too.
  await sql`
    select from resends r where id = any(${ids}::uuid[]) and ${isNotErasing(sql`r.id`)}
    order by id for update`.execute(tx);
  const due: string[] = [];
  for (const table of ['applied_deliveries', 'failed_deliveries']) {
    const { rows } = await sql<{ id: string }>`
      select s.id from ${sql.table(table)} s join inbox i using (id)
      where s.id = any(${ids}::uuid[]) and i.event_time < ${cutoff} and not ${isOfHeld}
        and ${isNotErasing(sql`s.id`)}
      order by s.id
      for update of s skip locked`.execute(tx);
    due.push(...rows.map(({ id }) => id));
  }
  return deleteDeliveries(tx, [family], due, 'deleted');
}

/** Whether a delivery is older than what its family keeps: ids sort by event time. */
function isExpired(families: readonly Family[], cutoffs: Pass['cutoffs']): RawBuilder<unknown> {
  const conditions = families
    .filter(({ name }) => cutoffs[name])
    .map(({ name }) => sql`(family = ${name} and id < ${idAt(cutoffs[name]!)}::uuid)`);
  return sql.join([sql`false`, ...conditions], sql` or `);
}

const isNotErasing = (id: RawBuilder<unknown>) => sql`not exists (select from erasing e where e.id = ${id})`;

const isOfHeld = namesHeld(
  sql`i.business_id`,
  sql`array_append(patients_of(i.envelope, i.patients), patient_about(i.family, i.business_id, i.envelope))`,
);

interface Found {
  id: string;
  family: string;
}

/**
 * Deliveries that are not pending, in the order of their event times, which is that of their ids. It reads the narrow rows
 * of statuses only, in short statements; a part of the result may be empty.
 *
 * @param end of the event times
 * @param isDue a condition on `id` and `family`
 */
async function* scan(db: Db, end: Date, isDue: RawBuilder<unknown>): AsyncGenerator<Found[]> {
  let after = idAt(new Date(0));
  for (;;) {
    const part = (table: string) => sql`(
      select id, family from ${sql.table(table)}
      where id > ${after}::uuid and id < ${idAt(end)}::uuid
      order by id limit ${perScan})`;
    const { rows } = await sql<{ last: string | null; found: Found[] }>`
      with scanned as materialized (
        select id, family from (${part('applied_deliveries')} union all ${part('failed_deliveries')}) as statuses
        order by id limit ${perScan}
      )
      select (select id from scanned order by id desc limit 1) as last,
             (select coalesce(json_agg(json_build_object('id', id, 'family', family) order by id), '[]')
              from scanned where ${isDue}) as found`.execute(db);
    const { last, found } = rows[0]!;
    if (last === null) return;
    yield found;
    after = last;
  }
}
