import { sql } from 'kysely';
import type { Log } from '../common/log.ts';
import type { Actor } from '../privacy/log/access-log.ts';
import type { Db } from '../store/tables.ts';
import { type DirectoryClient, refreshAliases } from './directory.ts';
import { compareSubscriptions, type Receiver, type Subscription } from './subscriptions.ts';

/** What the daily comparison reads of the platform. */
export interface DailyClient extends DirectoryClient {
  listSubscriptions: (options?: { signal?: AbortSignal }) => Promise<{ data: readonly Subscription[] }>;
}

interface DailyDependencies extends Receiver {
  db: Db;
  client: DailyClient;
  actor: Actor;
  log: Log;
}

/** The row of the last comparison in which the platform answered. */
const daily = 'daily';

/** Whether the platform has answered a comparison of today. */
export async function isComparedToday(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from platform_checks where name = ${daily} and reporting.day(checked_at) = reporting.today()`.execute(
    db,
  );
  return rows.length > 0;
}

/**
 * Compares the subscriptions, keeps the result for the page Health and alerts, and refreshes the aliases: once a day, beside the
 * reconciliation. What fails stops nothing else, and is logged; the former result stays.
 *
 * @returns whether anything succeeded: then it is done for today
 * @throws the reason of the signal
 */
export async function compareWithPlatform(
  dependencies: DailyDependencies,
  signal?: AbortSignal,
): Promise<boolean> {
  const { db, client, actor, log } = dependencies;
  const tasks = {
    'the subscriptions could not be compared': async () => {
      const { data } = await client.listSubscriptions({ ...(signal && { signal }) });
      await saveFindings(db, 'subscriptions', compareSubscriptions(data, dependencies));
    },
    'the aliases could not be refreshed': async () => {
      const { set } = await refreshAliases(db, client, actor, signal);
      if (set > 0) log.info({ set }, 'aliases refreshed from the platform');
    },
  };
  let hasSucceeded = false;
  for (const [failure, task] of Object.entries(tasks)) {
    try {
      await task();
      hasSucceeded = true;
    } catch (error) {
      signal?.throwIfAborted();
      log.warn({ err: error }, failure);
    }
  }
  if (hasSucceeded) await saveFindings(db, daily, []);
  return hasSucceeded;
}

/** Replaces the last result, which src/health/subscriptions.ts reads. */
async function saveFindings(db: Db, name: string, findings: readonly object[]): Promise<void> {
  await sql`
    insert into platform_checks (name, checked_at, findings) values (${name}, now(), ${JSON.stringify(findings)}::jsonb)
    on conflict (name) do update set checked_at = excluded.checked_at, findings = excluded.findings`.execute(
    db,
  );
}
