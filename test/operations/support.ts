import type { Config } from '../../src/common/config/config.ts';
import { readDatabaseChecks } from '../../src/operations/database-checks.ts';
import type { Check, RunningCore } from '../../src/receiver/feature.ts';
import { coreOf } from '../support/core.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';
import { testConfig } from '../support/service.ts';

const authentication = { signingKeys: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c'] };

/** A core whose only feature is that of operations, with a signing key. */
export function openCore(database: ReceiverDatabase, config: Partial<Config> = {}): RunningCore {
  const core = coreOf(database, testConfig({ databaseUrl: database.url, authentication, ...config }));
  return { ...core, features: [{ name: 'operations', checks: readDatabaseChecks }] };
}

/** The checks that are not ok, as name, about and status. */
export const faults = (checks: readonly Check[]) =>
  checks
    .filter(({ status }) => status !== 'ok')
    .map(({ name, about, status }) => [name, about, status].filter(Boolean).join(' '));
