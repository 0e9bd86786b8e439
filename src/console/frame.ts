import type { RequestHandler } from 'express';
import { sql } from 'kysely';
import { readAliases } from '../store/aliases.ts';
import type { Db } from '../store/tables.ts';
import type { Problems, Visit } from './ui/context.ts';

/** Rows are counted up to here: a number above means that there are more. */
export const countLimit = 10_000;

export const countUpTo = (rows: ReturnType<typeof sql>) =>
  sql<number>`(select count(*)::int from (${rows} limit ${countLimit + 1}) as counted)`;

export const problems = sql<Problems>`
  select ${countUpTo(sql`select from failed_deliveries`)} as failed,
         ${countUpTo(sql`select from quarantine where replayed_at is null`)} as quarantine`;

/** Reads what every page shows. A page can do without: its own queries say what is wrong. */
export function loadFrame(db: Db): RequestHandler {
  return async (_req, res, next) => {
    const visit = res.locals.visit as Visit;
    try {
      const [aliases, { rows }] = await Promise.all([readAliases(db), problems.execute(db)]);
      Object.assign(visit, { aliases, problems: rows[0] } satisfies Partial<Visit>);
    } catch {}
    next();
  };
}
