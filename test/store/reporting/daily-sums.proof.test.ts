import { setTimeout as sleep } from 'node:timers/promises';
import { families } from '../../../src/families/index.ts';
import { erasePatient } from '../../../src/privacy/erasure/erase.ts';
import { kindsOfSums, outdateSums, updateSums } from '../../../src/store/reporting/daily-sums.ts';
import { appointmentCallback, consentFormCallback, receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, seconds } from '../../support/deliveries.ts';
import { spawnReceiver } from '../../support/process.ts';
import { readDifferences } from '../../support/sums-over-rows.ts';

const database = useDatabase();
const noon = seconds('2024-03-01T06:30:00Z');
const pick = <T>(values: readonly T[]) => values[Math.floor(Math.random() * values.length)]!;
const below = (limit: number) => Math.floor(Math.random() * limit);

/** Callbacks about few records and days, in any order. */
function callbacks() {
  return Array.from({ length: 1 + below(20) }, () => {
    const created_at = noon + below(72) * 3_600;
    const common = { event_time: noon + below(100_000), business_id: pick(['b1', 'b2', 'b3']) };
    const clinic_id = pick(['c1', 'c2']);
    switch (below(3)) {
      case 0:
        return appointmentCallback({
          ...common,
          event: pick(['appointment.created', 'appointment.updated']),
          data: { appointment_id: `a${below(30)}`, created_at, clinic_id, status: pick(['BK', 'CM', 'CN']) },
        } as never);
      case 1:
        return consentFormCallback({
          ...common,
          data: { id: `m${below(30)}`, docid: pick(['d1', 'd2']) },
        } as never);
      default:
        return receiptCallback({
          ...common,
          event: pick(['receipt.created', 'receipt.updated', 'receipt.deleted']),
          data: {
            receipt_id: below(60),
            created_at,
            clinic_id,
            net_amount: below(1_000) / 100,
            patient_oid: `p${below(50)}`,
          },
        } as never);
    }
  });
}

it('the daily views have the sums over the rows while several write, update, erase and are killed', async () => {
  let running = true;
  const differences = Object.entries(await readDifferences(database.db));
  const done = { applied: 0, updates: 0, erased: 0, killed: 0, compared: 0 };
  const repeat = async (task: () => Promise<void>) => {
    while (running) await task();
  };
  const writers = Array.from({ length: 3 }, () =>
    repeat(async () => {
      done.applied += (await apply(database, callbacks())).length;
    }),
  );
  const updaters = kindsOfSums.flatMap((sums) =>
    [1, 2].map(() =>
      repeat(async () => {
        const { days, businesses } = await updateSums(database.db, sums);
        done.updates += days + businesses;
        if (Math.random() < 0.05) await outdateSums(database.db, sums, pick([undefined, 'b1']));
      }),
    ),
  );
  const eraser = repeat(async () => {
    const patient = { id: `p${below(50)}` };
    const options = { actor: { id: 'tester' }, keepMs: 1, keepsTotals: Math.random() < 0.5 };
    await erasePatient(database.db, families, patient, options);
    done.erased += 1;
    await sleep(100);
  });
  const killer = repeat(async () => {
    const command = spawnReceiver(['reports', 'rebuild'], { DATABASE_URL: database.url });
    await sleep(600 + below(900));
    if ((await command.end('SIGKILL')) === 'SIGKILL') done.killed += 1;
  });
  try {
    while (done.compared < 100 || done.killed < 5 || done.erased < 5) {
      for (const [sums, query] of differences) {
        expect({ sums, rows: await database.rows(query) }).toEqual({ sums, rows: [] });
        done.compared += 1;
      }
    }
  } finally {
    running = false;
    await Promise.all([...writers, ...updaters, eraser, killer]);
  }
  expect(done.applied).toBeGreaterThan(200);
  expect(done.updates).toBeGreaterThan(20);

  for (const sums of kindsOfSums) while ((await updateSums(database.db, sums)).hasMore);
  expect(await database.rows('select 1 from outdated_days')).toEqual([]);
  for (const [sums, query] of differences) {
    expect({ sums, rows: await database.rows(query) }).toEqual({ sums, rows: [] });
  }
});
