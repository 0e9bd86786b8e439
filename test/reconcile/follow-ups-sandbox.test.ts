import { families } from '../../src/families/index.ts';
import { findReconciled } from '../../src/reconcile/due.ts';
import { appointmentBook } from '../../src/sandbox/platform/book.ts';
import { type Sandbox, sandboxToken, startSandbox } from '../../src/sandbox/server.ts';
import { openPlatform } from '../../src/service/open-platform.ts';
import { createLeases } from '../../src/store/lease.ts';
import { createFollowUps } from '../../src/worker/follow-ups.ts';
import { createReconciliation } from '../../src/worker/reconciliation.ts';
import { apply } from '../support/deliveries.ts';
import { testConfig } from '../support/service.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database, newIntake, applyAll, log, numberOf } = useReconciliation();

let sandbox: Sandbox | undefined;
afterEach(() => sandbox?.close());

/** A worker's tasks against a sandbox whose callbacks about prescriptions were lost. */
async function startWorker(wanted: ('prescriptions' | 'payments')[]) {
  const book = appointmentBook({ seed: 3, start: Date.now() - 3 * 86_400_000, appointments: 40 });
  const callbacks = [...book.past()].map(({ envelope }) => envelope);
  await apply(
    database,
    callbacks.filter(({ event }) => /^(appointment|receipt)/.test(event)),
  );
  const started = await startSandbox({ records: book.records });
  sandbox = started;
  const settings = { SERVICE_BASE_URL: started.url, SERVICE_TOKEN: sandboxToken };
  const dependencies = {
    ...{ db: database.db, intake: newIntake(), families, leases: createLeases(database.db), log },
    openPlatform: async () => openPlatform(settings),
    config: { ...testConfig({}), reconcile: { days: 7 }, followUps: { with: wanted, perMinute: 6_000 } },
  };
  const { signal } = new AbortController();
  const asked = () => started.requests.filter(({ path }) => /payment|prescription/.test(path));
  return {
    ...{ records: book.records, asked },
    reconcile: createReconciliation(dependencies, signal)!,
    followUp: createFollowUps(dependencies, signal),
  };
}

it('a worker reads the prescriptions and payments of the days that it has compared, each once', async () => {
  const { records, asked, reconcile, followUp } = await startWorker(['prescriptions', 'payments']);
  await followUp!();
  expect(await findReconciled(database.db)).toBeUndefined();
  expect(asked()).toEqual([]);
  await reconcile();
  await applyAll();
  await followUp!();
  await applyAll();
  const prescriptions = await database.rows(
    'select prescription_id as id, patient_id as patient from prescriptions order by 1',
  );
  const expected = [...records.prescriptions].map(([id, { patient_id }]) => ({ id, patient: patient_id }));
  expect(expected.length).toBeGreaterThan(5);
  expect(prescriptions).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
  const paid = await database.rows(
    'select payment_id, rrn, amount::float8 as amount from payments order by rrn',
  );
  const told = await database.rows(
    `select distinct payment_id from receipts where payment_id <> '' order by 1`,
  );
  expect(told.length).toBeGreaterThan(2);
  expect(paid).toEqual(
    told
      .map(({ payment_id }) => {
        const { rrn, amount } = records.payments.get(String(payment_id))!;
        return { payment_id, rrn, amount };
      })
      .sort((a, b) => (String(a.rrn) < String(b.rrn) ? -1 : 1)),
  );
  const requests = asked().length;
  expect(requests).toBe(prescriptions.length + paid.length);
  await followUp!();
  expect(asked()).toHaveLength(requests);
});

it('without RECONCILE_WITH there is nothing to run, and nothing is noted', async () => {
  const { reconcile, followUp } = await startWorker([]);
  expect(followUp).toBeUndefined();
  await reconcile();
  expect(await numberOf('named_prescriptions')).toBe(0);
});
