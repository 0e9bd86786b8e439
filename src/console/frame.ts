import type { RequestHandler } from 'express';
import { sql } from 'kysely';
import { withTimeout } from '../common/with-timeout.ts';
import { readAliases } from '../store/aliases.ts';
import { countUpTo } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import type { Problems, Visit } from './ui/context.ts';

const problems = sql<Problems>`
  select ${countUpTo(sql`select from failed_deliveries`)} as failed,
         ${countUpTo(sql`select from quarantine where replayed_at is null`)} as quarantine`;

const timeoutMs = 1_000;

/** Reads what every page shows. A page can do without: its own queries say what is wrong. */
export function loadFrame(db: Db): RequestHandler {
  return async (_req, res, next) => {
    if (res.locals.outage) return next();
    const visit = res.locals.visit as Visit;
    try {
      const reading = Promise.all([readAliases(db), problems.execute(db)]);
      const [aliases, { rows }] = await withTimeout(timeoutMs, reading);
      Object.assign(visit, { aliases, problems: rows[0] } satisfies Partial<Visit>);
    } catch {}
    next();
  };
}
