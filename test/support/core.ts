import type { Delivery } from '../../src/callbacks/delivery.ts';
import { families } from '../../src/callbacks/families/index.ts';
import type { Config } from '../../src/common/config/config.ts';
import { createLog } from '../../src/common/log.ts';
import type { Core, RunningCore } from '../../src/receiver/feature.ts';
import { storeDeliveries } from '../../src/receiver/gate/gate.ts';
import type { ReceiverState } from '../../src/receiver/receiver.ts';
import { createMerge } from '../../src/receiver/worker/merge.ts';
import { deliveryOf } from './intake.ts';
import type { ReceiverDatabase } from './receiver-database.ts';

export const circuitOf = (check: () => Promise<boolean>) => ({ check, lastError: () => undefined });

/** The fallback store, of which all is well but for the overrides. */
export const fallbackOf = (state = {}, waiting: object = { count: 0 }) => ({
  check: async () => ({ acknowledges: true, detail: 'appendfsync is always', todo: '', ...state }),
  waiting: async () => waiting,
});

/** The state of a process, of which all is well but for the overrides. */
export const stateOf = (overrides: Record<string, unknown> = {}) =>
  ({
    circuit: circuitOf(async () => true),
    clock: { refresh: async () => {}, now: () => Date.now() },
    queue: { isAvailable: true },
    fallback: fallbackOf(),
    access: { warning: () => undefined },
    ...overrides,
  }) as unknown as ReceiverState;

/** What features work with, on a test's database. */
export function coreOf(
  { db, pool }: Pick<ReceiverDatabase, 'db' | 'pool'>,
  config: Partial<Config> = {},
): RunningCore {
  const log = createLog('silent');
  const merge = createMerge({ pool, families, log });
  const defaults = { retention: {}, erasure: { keepMs: 365 * 86_400_000 } };
  return {
    config: { ...defaults, ...config } as Config,
    families,
    db,
    pool,
    reports: pool,
    merge,
    log,
    features: [],
    process: stateOf(),
  };
}

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

/** Stores callbacks and merges them. @returns their ids */
export async function storeAndMerge(core: Core, ...callbacks: object[]): Promise<string[]> {
  const deliveries = callbacks.map((callback) => deliveryOf(callback));
  await storeIn(core, ...deliveries);
  await mergeAll(core);
  return deliveries.map(({ id }) => id);
}
