import { sql } from 'kysely';
import { createLog, type Log } from '../../common/log.ts';
import { InvalidConfiguration } from '../../config/config.ts';
import { changeSchema } from '../change-schema.ts';
import type { Db } from '../tables.ts';

/**
 * Sets the time zone of the reports' days and hours. If it changes, the indexes on days are rebuilt while callbacks are
 * received; until then a report may miss rows near midnight. An interrupted rebuild is resumed.
 *
 * @param db with at least three connections
 * @param zone a name of the IANA time zone database, such as Asia/Kolkata
 * @returns whether the zone has changed
 * @throws InvalidConfiguration where another role owns the tables; the database's error (22023) for an unknown zone; nothing
 *   has changed then
 */
export async function applyReportTimezone(
  db: Db,
  zone: string,
  log: Pick<Log, 'warn'> = createLog('silent'),
): Promise<boolean> {
  const name = 'the time zone of the reports';
  const { rows } = await sql<{ isCurrent: boolean; isOwner: boolean; owner: string; former: string }>`
    select reporting.timezone() = ${zone} and not exists (select from stale_day_indexes) as "isCurrent",
           pg_has_role(relowner, 'usage') as "isOwner", pg_get_userbyid(relowner) as owner, reporting.timezone() as former
    from pg_class where oid = to_regclass('receipts')`.execute(db);
  const { isCurrent, isOwner, owner, former } = rows[0]!;
  if (isCurrent) return false;
  if (!isOwner) {
    throw new InvalidConfiguration([
      `REPORT_TIMEZONE is ${zone}, and the indexes of this database are for ${former}: run \`receiver migrate\` with the role ` +
        `${owner} and this REPORT_TIMEZONE, then start again`,
    ]);
  }
  return changeSchema(db, log, async (change) => {
    const changed = await change.transaction(name, (trx) => writeZone(trx, zone));
    // Leftovers of an interrupted rebuild.
    for (const index of await readIndexes(db, sql`i.indisvalid is false`)) {
      await change.statement(name, `drop index concurrently if exists ${index.name}`);
    }
    const stale = sql`i.indexrelid::regclass::text in (select name from stale_day_indexes)`;
    for (const index of await readIndexes(db, stale)) {
      await change.statement(name, `reindex index concurrently ${index.name}`);
      await change.statement(name, `analyze ${index.table}`);
      await sql`delete from stale_day_indexes where name = ${index.name}`.execute(db);
    }
    await sql`delete from stale_day_indexes`.execute(db); // an index that was dropped
    return changed;
  });
}

/** Writes the zone and records which indexes must be rebuilt. */
async function writeZone(trx: Db, zone: string): Promise<boolean> {
  const { rows } = await sql<{ zone: string }>`select reporting.timezone() as zone`.execute(trx);
  if (rows[0]!.zone === zone) return false;
  await sql`select reporting.write_zone(${zone})`.execute(trx);
  for (const { name } of await readIndexes(trx, sql`true`)) {
    await sql`insert into stale_day_indexes values (${name}) on conflict do nothing`.execute(trx);
  }
  return true;
}

/** The indexes on days or hours. */
async function readIndexes(db: Db, condition: ReturnType<typeof sql>) {
  const { rows } = await sql<{ name: string; table: string }>`
    select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as table from pg_index i
    where pg_get_indexdef(i.indexrelid) ~ 'reporting\\.(day|hour)\\(' and ${condition}
    order by 2, 1`.execute(db);
  return rows;
}

/**
 * The console's clock and the reports' days must be those of one zone: what Node and PostgreSQL know of it
 * agrees for January and July of this year.
 *
 * @param zone a name of the IANA time zone database, such as Asia/Kolkata
 * @throws InvalidConfiguration where PostgreSQL does not know the zone, or its clocks differ from Node's
 */
export async function checkTimezone(db: Db, zone: string): Promise<void> {
  for (const month of [0, 6]) {
    const moment = new Date(Date.UTC(new Date().getUTCFullYear(), month, 1, 12));
    const here = readClock(moment, zone);
    const { rows } = await sql<{ there: string }>`
      select to_char(${moment.toISOString()}::timestamptz at time zone ${zone}, 'YYYY-MM-DD HH24:MI') as there`
      .execute(db)
      .catch((error: { code?: string }) => {
        if (error.code !== '22023') throw error;
        throw new InvalidConfiguration([
          `REPORT_TIMEZONE is ${zone}, which PostgreSQL does not know. Its newer name may be in select name from pg_timezone_names`,
        ]);
      });
    if (rows[0]!.there === here) continue;
    throw new InvalidConfiguration([
      `REPORT_TIMEZONE is ${zone}, whose clocks at ${moment.toISOString()} are at ${here} to Node and at ` +
        `${rows[0]!.there} to PostgreSQL. Update the time zones of the older one, or set another zone`,
    ]);
  }
}

/** Such as 2026-01-01 17:30. */
function readClock(moment: Date, timeZone: string): string {
  const { format } = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return format(moment);
}

/**
 * Stores the family of each registered path, so that reports count quarantined bodies by family. Former paths are kept
 * for bodies that were sent to them.
 *
 * @param paths the registered paths by family name
 */
export async function applyReportPaths(db: Db, paths: Record<string, readonly string[]>): Promise<void> {
  const given = Object.entries(paths).flatMap(([family, list]) => list.map((path) => ({ family, path })));
  await sql`
    insert into callback_paths (path, family)
    select path, family
    from unnest(${given.map(({ path }) => path)}::text[], ${given.map(({ family }) => family)}::text[]) as given (path, family)
    order by path
    on conflict (path) do update set family = excluded.family
      where callback_paths.family <> excluded.family`.execute(db);
}
