import { setTimeout as sleep } from 'node:timers/promises';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { updateTerms } from '../../src/store/search-terms.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { spawnReceiver } from '../support/process.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const below = (limit: number) => Math.floor(Math.random() * limit);
const pick = <T>(values: readonly T[]) => values[below(values.length)]!;

/** Callbacks about few receipts of few patients, in any order; a name contains the patient's id as a word. */
function callbacks() {
  return Array.from({ length: 1 + below(20) }, () => {
    const patient_oid = `p${below(400)}`;
    return receiptCallback({
      event: pick(['receipt.created', 'receipt.updated', 'receipt.deleted'] as const),
      event_time: 1_700_000_000 + below(100_000),
      business_id: pick(['b1', 'b2']),
      data: { receipt_id: below(300), patient_oid, name: `${pick(['Asha', 'Ravi'])} ${patient_oid}` },
    } as never);
  });
}

it('nothing of an erased patient is found, and nothing else is missed, while several write, erase and are killed', async () => {
  let running = true;
  const done = { applied: 0, updated: 0, erased: 0, killed: 0, compared: 0 };
  const repeat = async (task: () => Promise<void>) => {
    while (running) await task();
  };
  const erased: string[] = [];
  const writers = Array.from({ length: 2 }, () =>
    repeat(async () => {
      done.applied += (await apply(database, callbacks())).length;
    }),
  );
  const updater = repeat(async () => {
    done.updated += (await updateTerms(database.db)).receipts;
    await sleep(below(30));
  });
  const eraser = repeat(async () => {
    const id = `p${below(400)}`;
    await erasePatient(
      database.db,
      families,
      { id },
      { actor: { id: 'tester' }, keepMs: 1, keepsTotals: false },
    );
    erased.push(`'n${id}'`);
    done.erased += 1;
  });
  const killer = repeat(async () => {
    const worker = spawnReceiver(['start'], { DATABASE_URL: database.url, ROLE: 'worker' });
    await sleep(1_500 + below(2_500));
    if ((await worker.end('SIGKILL')) === 'SIGKILL') done.killed += 1;
  });
  try {
    while (done.compared < 200 || done.killed < 6 || done.erased < 60) {
      const known = [...erased];
      const found = `select receipt_id, terms::text from receipt_terms where terms @@ $1::tsquery`;
      if (known.length > 0) expect(await database.rows(found, [known.join(' | ')])).toEqual([]);
      done.compared += 1;
      await sleep(5);
    }
  } finally {
    running = false;
    await Promise.all([...writers, updater, eraser, killer]);
  }
  // Some killed in the middle of it, another one does what is left.
  await apply(database, Array.from({ length: 100 }, callbacks).flat());
  const worker = spawnReceiver(['start'], { DATABASE_URL: database.url, ROLE: 'worker' });
  try {
    await until(async () => (await database.rows('select 1 from outdated_terms limit 1')).length === 0);
  } finally {
    await worker.end('SIGTERM');
  }
  const terms =
    'select business_id, receipt_id, receipt_terms_of(name, mobile, receipt_number) from receipts';
  expect(await database.rows(`select * from receipt_terms except ${terms}`)).toEqual([]);
  expect(await database.rows(`${terms} except select * from receipt_terms`)).toEqual([]);
  expect(done.applied).toBeGreaterThan(500);
});
