import { type Kysely, sql } from 'kysely';
import type { Log } from '../log.ts';
import { type Database, openDatabase } from '../store/database.ts';
import type { Tables } from '../store/tables.ts';

export interface ConsoleStore {
  /** For pages: no statement takes longer than a few seconds. */
  pages: Database;
  /** For downloads, which may take minutes. */
  downloads: Database;
  close: () => Promise<void>;
}

const pageTimeoutMs = 5_000;
const downloadTimeoutMs = 15 * 60_000;

/** Separate connections, so that the console takes none from callbacks. */
export function openStore(url: string, timezone: string, log: Log): ConsoleStore {
  const open = (name: string, timeout: number) =>
    openDatabase(url, log, {
      connections: 2,
      name,
      // Compiling a report's plan takes longer than running it.
      settings: { statement_timeout: timeout, jit: 'off', TimeZone: timezone },
    });
  const pages = open('receiver console', pageTimeoutMs);
  const downloads = open('receiver download', downloadTimeoutMs);
  return {
    pages,
    downloads,
    close: async () => {
      await Promise.all([pages.close(), downloads.close()]);
    },
  };
}

const codes = { timedOut: '57014' };

/** Whether a statement was cancelled by its timeout. */
export const isTimeout = (error: unknown): boolean =>
  (error as { code?: string } | null)?.code === codes.timedOut;

/** A number of rows, counted up to a limit. */
export interface Bounded {
  count: number;
  more: boolean;
}

export const countLimit = 10_000;

/** @param rows a query whose rows are to be counted */
export async function countUpTo(db: Kysely<Tables>, rows: ReturnType<typeof sql>): Promise<Bounded> {
  const result = await sql<{ n: number }>`
    select count(*)::int as n from (${rows} limit ${countLimit + 1}) as counted`.execute(db);
  const { n } = result.rows[0]!;
  return { count: Math.min(n, countLimit), more: n > countLimit };
}

/**
 * Every business that has sent something, found by a loose index scan instead of one over all rows.
 */
export const businesses = sql<string>`(
  with recursive found as (
    (select business_id from deliveries where status = 'applied' order by business_id limit 1)
    union all
    select (select d.business_id from deliveries d
            where d.status = 'applied' and d.business_id > found.business_id
            order by d.business_id limit 1)
    from found where found.business_id is not null
  )
  select business_id from found where business_id is not null
)`;
