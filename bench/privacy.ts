import { applyDeliveries } from '../src/apply/apply.ts';
import { families } from '../src/families/index.ts';
import { identify } from '../src/intake/identity.ts';
import { insertDeliveries } from '../src/intake/insert-deliveries.ts';
import { erasePatient } from '../src/privacy/erasure/erase.ts';
import { withPatient, zipPatient } from '../src/privacy/export.ts';
import type { Database } from '../src/store/database.ts';
import { withFilledDatabase } from './filled.ts';
import { type FilledOptions, filledCommand } from './options.ts';
import { describeSetting } from './report/setting.ts';
import { writeReport } from './report/write.ts';
import { deliveriesPerReceipt } from './reports/fill.ts';

const options = filledCommand(
  'bench:privacy',
  'Fills a database and times the export and the erasure of patients',
  { deliveries: 5_000_000, days: 365, patients: 20 },
)
  .parse()
  .opts<FilledOptions & { deliveries: number; days: number; patients: number }>();
const { deliveries, days, patients, results } = options;

// Another in each run: an erased one does not come back.
const heavy = `patient-${Date.now()}`;

async function addHeavyPatient({ pool, db }: Database): Promise<void> {
  const made = Array.from({ length: 1_000 }, (_, index) => {
    const data = {
      receipt_id: 9e12 + (index >> 1),
      patient_oid: heavy,
      name: 'Asha Sample',
      net_amount: index,
    };
    const event_time = Math.floor(Date.now() / 1000) - index;
    const envelope = {
      event: 'receipt.updated',
      event_time,
      timestamp: 0,
      client_id: 'c',
      business_id: 'b',
      data,
    };
    return {
      id: identify(envelope as never),
      family: 'receipt',
      body: Buffer.from(JSON.stringify(envelope)),
    };
  });
  await insertDeliveries(pool, made);
  await applyDeliveries(
    db,
    families,
    made.map(({ id }) => id),
  );
}

async function timed<T>(run: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const began = performance.now();
  const result = await run();
  return { ms: performance.now() - began, result };
}

const actor = { id: 'bench' };
const volume = { receipts: Math.round(deliveries / deliveriesPerReceipt), days };
await withFilledDatabase(options, volume, async ({ database, version }) => {
  await addHeavyPatient(database);
  const { rows } = await database.pool.query<{ id: string }>(
    `select distinct envelope #>> '{data,patient_oid}' as id
     from inbox tablesample system (${Math.min(100, (patients * 10_000) / deliveries)}) where family = 'receipt' and business_id <> 'b' limit $1`,
    [patients],
  );
  const measured: { erase: number; export: number }[] = [];
  for (const id of [...rows.map((row) => row.id), heavy]) {
    const exporting = await timed(() =>
      withPatient(database.db, families, { id }, async (held) => {
        for await (const _ of zipPatient(held));
      }),
    );
    const options = { actor, keepMs: 1e12, keepsTotals: true };
    const erasing = await timed(() => erasePatient(database.db, families, { id }, options));
    if (!(erasing.result.counts.deliveries! >= (id === heavy ? 1_000 : 1)))
      throw new Error(`Too little was erased: ${JSON.stringify(erasing.result.counts)}`);
    measured.push({ export: exporting.ms, erase: erasing.ms });
  }
  const last = measured.pop()!;
  const line = (name: 'export' | 'erase', goalMs: number) => {
    const sorted = measured.map((one) => one[name]).sort((a, b) => a - b);
    const [median, most] = [sorted[sorted.length >> 1]!, sorted.at(-1)!];
    return [name, ...[median, most, last[name]].map((ms) => ms.toFixed(0)), String(goalMs)];
  };
  const total = await database.pool.query<{ n: string }>('select count(*) as n from inbox');
  const file = writeReport(results, {
    name: 'privacy',
    setting: {
      ...describeSetting({ postgres: version }),
      deliveries: total.rows[0]!.n,
    },
    tables: [
      [
        ['ms', `median of ${measured.length} patients`, 'slowest', 'a patient with 1,000 deliveries', 'goal'],
        line('export', 2_000),
        line('erase', 1_000),
      ],
    ],
  });
  process.stdout.write(`Written to ${file}\n`);
});
