import { sql } from 'kysely';
import { InvalidConfiguration } from '../../config/config.ts';
import type { Db } from '../tables.ts';

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
