import { type Kysely, sql } from 'kysely';
import type { Tables } from '../store/tables.ts';

/**
 * Makes the reports' days and hours those of a time zone. Where that changes the zone, the indexes on days
 * are built anew, and what is taken in meanwhile waits: a minute or two at five million receipts.
 *
 * @param zone a name of the IANA time zone database, such as Asia/Kolkata
 * @returns whether the zone was another before
 * @throws the database's error (22023) for a zone that it does not know; then nothing has changed
 */
export async function applyReportTimezone(db: Kysely<Tables>, zone: string): Promise<boolean> {
  const { rows } = await sql<{ changed: boolean }>`
    select reporting.set_timezone(${zone}) as changed`.execute(db);
  return rows[0]!.changed;
}
