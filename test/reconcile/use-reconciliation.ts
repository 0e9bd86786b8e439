import { applyDeliveries } from '../../src/apply/apply.ts';
import { createLog } from '../../src/common/log.ts';
import type { Config } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { type ReconcileOptions, reconcile } from '../../src/reconcile/reconcile.ts';
import { useDatabase } from '../support/database.ts';
import { clear, erasureTables } from '../support/deliveries.ts';
import { business, type listedAppointments } from '../support/listed-appointments.ts';
import { testConfig } from '../support/service.ts';

export const tables = ['reconciliations', 'reconciled_deliveries', 'platform_checks'];

type Simulated = ReturnType<typeof listedAppointments>;

/** A database that is empty before each test, and what tests of the reconciliation do with it. */
export function useReconciliation() {
  const database = useDatabase();
  beforeEach(() => clear(database, ...tables, ...erasureTables));
  const log = createLog('silent');

  const newIntake = (config: Partial<Config> = {}) => {
    const { pool } = database;
    const circuit = databaseCircuit(pool, { log });
    return createIntake({ config: testConfig(config), families, pool, circuit, log });
  };

  return {
    database,
    log,
    newIntake,
    /** A pass over the days for which the simulated platform has appointments. */
    pass: ({ platform }: Simulated, more: Partial<ReconcileOptions> = {}) =>
      reconcile({
        ...{ db: database.db, intake: newIntake(), platform, business },
        ...{ from: '2026-06-01', to: '2026-06-20' },
        ...more,
      }),
    applyAll: async () => {
      const rows = await database.rows('select id from pending_deliveries');
      const ids = rows.map(({ id }) => String(id));
      await applyDeliveries(database.db, families, ids);
    },
    rowsNow: () =>
      database.rows(`
        select appointment_id, patient_id, status, extract(epoch from created_at)::int as created_at
        from appointments order by appointment_id`),
    platformNow: ({ listed }: Simulated) =>
      listed
        .map(({ appointment_id, patient_id, status, created_at }) => ({
          ...{ appointment_id, patient_id, status, created_at },
        }))
        .sort((a, b) => (a.appointment_id < b.appointment_id ? -1 : 1)),
    numberOf: async (from: string) => (await database.rows(`select count(*)::int as n from ${from}`))[0]!.n,
  };
}
