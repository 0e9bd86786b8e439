import type { Delivery } from '../../src/callbacks/delivery.ts';
import { families } from '../../src/callbacks/families/index.ts';
import type { Config } from '../../src/common/config/config.ts';
import { createLog } from '../../src/common/log.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { storeDeliveries } from '../../src/receiver/gate/gate.ts';
import { createMerge } from '../../src/receiver/worker/merge.ts';
import type { ReceiverDatabase } from './receiver-database.ts';

/** What features work with, on a test's database. */
export function coreOf({ db, pool }: ReceiverDatabase, config: Partial<Config> = {}): Core {
  const log = createLog('silent');
  const merge = createMerge({ pool, families, log });
  const defaults = { retention: {}, erasure: { keepMs: 365 * 86_400_000 } };
  return { config: { ...defaults, ...config } as Config, families, db, pool, merge, log, features: [] };
}

/** Merges all that waits. */
export async function mergeAll({ merge, families: list }: Core): Promise<void> {
  for (const { name } of list) {
    let isFull = true;
    while (isFull) ({ isFull } = await merge(name));
  }
}

/** The text of every row of every table, without what is withheld. */
export async function everything({ pool }: Pick<Core, 'pool'>): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('public', 'receiver') and tablename <> 'withheld'`,
  );
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await pool.query<{ text: string }>(`select t::text as text from ${name} t`);
      return rows.map(({ text }) => `${name} ${text}`).join('\n');
    }),
  );
  return texts.join('\n');
}

/** Stores deliveries as the intake does. @returns `accepted` or `duplicate` for each */
export const storeIn = ({ pool, families: list }: Core, ...deliveries: Delivery[]): Promise<string[]> =>
  storeDeliveries(pool, list, deliveries, 60_000);
