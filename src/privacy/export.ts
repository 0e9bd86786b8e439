import { text } from 'node:stream/consumers';
import { zipSync } from 'fflate';
import { type Kysely, sql } from 'kysely';
import { csvWriter } from '../csv.ts';
import type { Family } from '../families/index.ts';
import type { Tables } from '../store/tables.ts';
import type { Access } from './access-log.ts';
import { findInQuarantine } from './erase-quarantine.ts';
import { findDeliveries, type Patient } from './find-deliveries.ts';
import { madeOf } from './withhold.ts';

export interface ExportedRow {
  /** As PostgreSQL writes it: numbers have all their digits. */
  json: string;
  /** Every column as text, in the order of the table. */
  columns: Record<string, string | null>;
}

/** What is held about a patient: rows by table. */
export type PatientData = Record<string, ExportedRow[]>;

/**
 * Reads everything that is held about a patient, in one snapshot: deliveries with their bodies and when they came, the rows
 * made of them, bodies in the quarantine, and who looked at it.
 */
export async function readPatient(
  db: Kysely<Tables>,
  families: readonly Family[],
  patient: Patient,
): Promise<PatientData> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const { ids, own } = await findDeliveries(tx, families, patient);
      const read = async (query: ReturnType<typeof sql>) => {
        const { rows } = await sql<ExportedRow>`
          select to_json(found)::text as json,
                 (select json_object_agg(key, value) from json_each_text(to_json(found))) as columns
          from (${query}) found`.execute(tx);
        return rows;
      };
      const data: PatientData = {
        deliveries: await read(sql`
          select * from deliveries where id = any(${ids}::uuid[]) order by received_at, id`),
      };
      for (const family of families) {
        for (const table of [family.table, ...(family.versions ? [family.versions] : [])]) {
          data[table] = await read(sql`
            select made.*, i.received_at as delivery_received_at
            from inbox i join ${sql.table(table)} made on ${madeOf(family)}
            where i.id = any(${ids}::uuid[]) order by made.event_time, made.delivery_id`);
        }
      }
      const quarantined = await findInQuarantine(tx, families, patient, own);
      data.quarantine = await read(sql`
        select id, reason, errors, received_at, last_received_at, count, replayed_at, encode(body, 'escape') as body
        from quarantine where id = any(${quarantined}::uuid[]) order by received_at, id`);
      data.access_log = await read(sql`
        select entry, at, actor, actor_name, action, filter, rows
        from access_log
        where patients @> array[(select patient_hash(salt, '', ${patient.id}) from erasure_salt)]
        order by entry`);
      return data;
    });
}

/** The number of rows that are held about a patient; the access log is not about the patient alone. */
export const countRows = ({ access_log: _, ...held }: PatientData) =>
  Object.values(held).reduce((sum, rows) => sum + rows.length, 0);

/** The entry of the access log about reading a patient's data. No id is kept where nothing is held. */
export function accessTo(
  patient: Patient,
  data: PatientData,
  action: 'reveal' | 'export',
): Omit<Access, 'actor'> {
  const rows = countRows(data);
  const filter = patient.businessId ? { business: patient.businessId } : {};
  return { action, patients: [patient.id], anonymous: rows === 0, filter, rows };
}

/** A zip with `patient.json`, which contains every table, and a CSV (RFC 4180) for each table that has rows. */
export async function zipPatient(data: PatientData): Promise<Buffer> {
  const encode = (content: string) => new TextEncoder().encode(content);
  const tables = Object.entries(data).map(
    ([table, rows]) => `${JSON.stringify(table)}:[\n${rows.map(({ json }) => json).join(',\n')}]`,
  );
  const files: Record<string, Uint8Array> = { 'patient.json': encode(`{${tables.join(',\n')}}\n`) };
  for (const [table, rows] of Object.entries(data)) {
    if (rows.length === 0) continue;
    const csv = csvWriter(Object.keys(rows[0]!.columns));
    for (const { columns } of rows) csv.write(columns);
    csv.end();
    files[`${table}.csv`] = encode(await text(csv));
  }
  return Buffer.from(zipSync(files));
}
