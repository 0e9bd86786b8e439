import { sql } from 'kysely';
import { read } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import type { ReportFilter } from './filter.ts';
import type { Report } from './report.ts';

const searchedEntries = 10_000;

/**
 * When a user last downloaded all rows of a report, or what had changed: of the same business, clinic and doctor, whatever
 * the days. Undefined: not lately.
 */
export async function readLastDownload(
  db: Db,
  actor: string,
  { view }: Report,
  { business, clinic, doctor }: ReportFilter,
): Promise<Date | undefined> {
  const asked = { report: view, business, clinic, doctor };
  const same = Object.entries(asked).map(
    ([name, value]) => sql`filter->>${name} is not distinct from ${value ?? null}`,
  );
  const last = sql<{ at: Date }>`
    select at
    from (
      select at, action, filter from access_log where actor = ${actor} order by at desc limit ${searchedEntries}
    ) entries
    where action = 'download' and ${sql.join(same, sql` and `)} and filter->>'receipt' is null
      and filter->>'age' is null and coalesce(filter->>'part', 'changed') = 'changed'
    order by at desc
    limit 1`;
  return (await read(db, last))[0]?.at;
}
