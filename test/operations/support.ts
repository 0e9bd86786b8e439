import { readDatabaseChecks } from '../../src/operations/database-checks.ts';
import type { Check, Core } from '../../src/receiver/feature.ts';
import type { ReceiverState } from '../../src/receiver/receiver.ts';
import { coreOf } from '../support/core.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';

/** A core whose only feature is that of operations. It keeps no result of a slow check. */
export function openCore(database: ReceiverDatabase, config: Partial<Core['config']> = {}): Core {
  const core = coreOf(database, testConfig({ databaseUrl: database.url, ...config }));
  const checks = ({ ...one }: Core) => readDatabaseChecks({ ...one, pool: poolLike(one) });
  return { ...core, features: [{ name: 'operations', checks }] };
}

const poolLike = ({ pool }: Core) => ({ query: pool.query.bind(pool) }) as never;

/** What a process knows of itself: all is well, but for the overrides. */
export const stateOf = (overrides: Record<string, unknown> = {}) =>
  ({
    circuit: { check: async () => true, unavailableSince: undefined },
    clock: { current: async () => Date.now(), aheadMs: () => 0 },
    queue: { isAvailable: true },
    fallback: fallbackOf(),
    access: { warning: () => undefined },
    ...overrides,
  }) as unknown as ReceiverState;

export const fallbackOf = (state = {}, waiting: object = { count: 0 }, takes = true) => ({
  circuit: { check: async () => takes },
  state: { acknowledges: true, detail: 'appendfsync is always', todo: '', ...state },
  waiting: async () => waiting,
});

/** The checks that are not ok, as name, subject and status. */
export const faults = (checks: readonly Check[]) =>
  checks
    .filter(({ status }) => status !== 'ok')
    .map(({ name, subject, status }) => [name, subject, status].filter(Boolean).join(' '));
