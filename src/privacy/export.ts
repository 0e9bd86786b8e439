import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Family } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import { mayBeIdle, setPlanForAnySize } from '../store/transactions.ts';
import { type Counts, countHeld, madeOf, sum, tablesOf } from './counts.ts';
import { findInQuarantine } from './erasure/find-in-quarantine.ts';
import { findDeliveries, idsOf, listedIds, type Patient } from './find-deliveries.ts';
import type { Access } from './log/access-log.ts';

export interface ExportedRow {
  /** As PostgreSQL writes it: numbers have all their digits. */
  json: string;
  /** Every column as text, in the order of the table. */
  columns: Record<string, string | null>;
}

/** The data that is held about a patient. */
export interface HeldData {
  counts: Counts;
  /** The rows of a table, in parts, in the order of their event times; those of the quarantine in that of their ids. */
  read: (table: string) => AsyncGenerator<ExportedRow[]>;
  /** The transaction. */
  tx: Db;
  /** The rows of a family, `made`, for the clause `from` of a query in the transaction. */
  rowsOf: (family: Family) => RawBuilder<unknown>;
}

const perPart = 500;

/**
 * Reads what is held about a patient, in one snapshot and in parts: deliveries with their bodies and when they came, the
 * rows made of them, bodies in the quarantine, and who looked at it.
 *
 * @param use what is done with it, while the transaction is open
 */
export async function withPatient<T>(
  db: Db,
  families: readonly Family[],
  patient: Patient,
  use: (held: HeldData) => Promise<T>,
): Promise<T> {
  const tx = await db.startTransaction().setIsolationLevel('repeatable read').execute();
  try {
    await sql`set local statement_timeout = 0`.execute(tx);
    await sql.raw(mayBeIdle).execute(tx);
    await setPlanForAnySize(tx);
    const listId = randomUUID();
    await findDeliveries(tx, families, patient, listId);
    const quarantined = await findInQuarantine(tx, families, patient, listId);
    const log = sql`access_log where patients && array(
      select patient_hash(salt, '', one) from erasure_salt cross join unnest(${idsOf(patient)}::text[]) as one)`;
    const { rows } = await sql<{ rows: number }>`select count(*)::int as rows from ${log}`.execute(tx);
    const counts = {
      ...(await countHeld(tx, families, listId)),
      quarantine: quarantined.length,
      access_log: rows[0]!.rows,
    };
    const exported = async (query: ReturnType<typeof sql>) =>
      (
        await sql<ExportedRow>`
          select to_json(found)::text as json,
                 (select json_object_agg(key, value) from json_each_text(to_json(found))) as columns
          from (${query}) found`.execute(tx)
      ).rows;
    const ofDeliveries = (ids: readonly string[]) =>
      exported(sql`select * from deliveries where id = any(${ids}::uuid[]) order by id`);
    const made = (family: Family, table: string, ids: readonly string[]) =>
      exported(sql`
        select made.*, i.received_at as delivery_received_at
        from inbox i join ${sql.table(table)} made on ${madeOf(family)}
        where i.id = any(${ids}::uuid[]) and i.family = ${family.name} order by made.event_time, made.delivery_id`);
    const familyOf = (table: string) => families.find((family) => tablesOf(family).includes(table))!;
    const read: HeldData['read'] = async function* (table) {
      if (!counts[table as keyof typeof counts]) return;
      if (table === 'access_log')
        yield exported(sql`
        select entry, at, actor, actor_name, action, filter, rows from ${log} order by entry`);
      else if (table === 'quarantine') {
        for (let at = 0; at < quarantined.length; at += perPart) {
          yield exported(sql`
            select id, reason, errors, received_at, last_received_at, count, replayed_at, encode(body, 'escape') as body
            from quarantine where id = any(${quarantined.slice(at, at + perPart)}::uuid[]) order by id`);
        }
      } else if (table === 'deliveries') {
        for await (const ids of listedIds(tx, listId, perPart)) yield ofDeliveries(ids);
      } else {
        const family = familyOf(table);
        for await (const ids of listedIds(tx, listId, perPart, sql`family = ${family.name}`))
          yield made(family, table, ids);
      }
    };
    const rowsOf: HeldData['rowsOf'] = (family) => sql`
      erasing e join inbox i on e.erasure_id = ${listId}::uuid and e.family = ${family.name} and i.id = e.id
      join ${sql.table(family.table)} made on ${madeOf(family)}`;
    return await use({ counts, read, tx, rowsOf });
  } finally {
    await tx.rollback().execute();
  }
}

/** The number of rows that are held about a patient; the access log is not about the patient alone. */
export const countRows = ({ access_log: _, ...held }: Counts) => sum(held);

/** The entry of the access log about reading a patient's data. No id is kept where nothing is held. */
export function accessTo(
  patient: Patient,
  { counts }: Pick<HeldData, 'counts'>,
  action: 'reveal' | 'export',
): Omit<Access, 'actor'> {
  const rows = countRows(counts);
  const filter = patient.businessId ? { business: patient.businessId } : {};
  return { action, patients: idsOf(patient), anonymous: rows === 0, filter, rows };
}

/** Every table as one object of JSON, in parts; numbers have all their digits. */
export async function* jsonOf({ counts, read }: HeldData): AsyncGenerator<string> {
  for (const [index, table] of Object.keys(counts).entries()) {
    yield `${index === 0 ? '{' : ',\n'}${JSON.stringify(table)}:[\n`;
    let separator = '';
    for await (const rows of read(table)) {
      if (rows.length === 0) continue;
      yield separator + rows.map(({ json }) => json).join(',\n');
      separator = ',\n';
    }
    yield '\n]';
  }
  yield '}\n';
}
