import { sql } from 'kysely';
import type { Log } from '../common/log.ts';
import type { Actor } from '../privacy/log/access-log.ts';
import type { Db } from '../store/tables.ts';
import { type DirectoryClient, refreshAliases } from './directory.ts';
import { compareSubscriptions, type Receiver, type Subscription } from './subscriptions.ts';

export interface SubscriptionsClient {
  listSubscriptions: (options?: { signal?: AbortSignal }) => Promise<{ data: readonly Subscription[] }>;
}

interface DailyDependencies extends Receiver {
  db: Db;
  client: SubscriptionsClient & DirectoryClient;
  actor: Actor;
  log: Log;
}

/**
 * Compares the subscriptions, keeps the result for the overview and alerts, and refreshes the aliases: once a day, beside the
 * reconciliation. What fails stops nothing else, and is logged; the former result stays.
 *
 * @throws the reason of the signal
 */
export async function compareWithPlatform(
  dependencies: DailyDependencies,
  signal?: AbortSignal,
): Promise<void> {
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
  for (const [failure, task] of Object.entries(tasks)) {
    try {
      await task();
    } catch (error) {
      signal?.throwIfAborted();
      log.warn({ err: error }, failure);
    }
  }
}

/** Replaces the last result, which src/health/subscriptions.ts reads. */
async function saveFindings(db: Db, name: string, findings: readonly object[]): Promise<void> {
  await sql`
    insert into platform_checks (name, checked_at, findings) values (${name}, now(), ${JSON.stringify(findings)}::jsonb)
    on conflict (name) do update set checked_at = excluded.checked_at, findings = excluded.findings`.execute(
    db,
  );
}
