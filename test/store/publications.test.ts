import { createLog } from '../../src/common/log.ts';
import { diagnose } from '../../src/diagnostics/diagnose.ts';
import { families } from '../../src/families/index.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { holdPatient, releasePatient } from '../../src/privacy/hold.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import { prepareQueueTables } from '../../src/queue/postgres-backend.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';

const actor = { id: 'test' };

const database = useDatabase();
beforeAll(async () => {
  await prepareQueueTables(database.url);
  await database.rows('create publication everything for all tables');
});

const findings = async () => {
  const found = await diagnose({ DATABASE_URL: database.url });
  return found.filter(({ name }) => name === 'publications');
};

it('every table of every schema can be changed while all are published', async () => {
  const tables = await database.rows(`
    select c.oid::regclass::text as name, (
      select quote_ident(attname) from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' and attidentity <> 'a' limit 1
    ) as column
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p') and nspname !~ '^pg_' and nspname <> 'information_schema'`);
  expect(tables.length).toBeGreaterThan(40);
  const refused: unknown[] = [];
  for (const { name, column } of tables) {
    for (const statement of [
      `update ${name} set ${column} = ${column} where false`,
      `delete from ${name} where false`,
    ])
      await database.rows(statement).catch(({ message }: Error) => refused.push(message));
  }
  expect(refused).toEqual([]);
  expect(await findings()).toEqual([]);
});

it('what is logged, erased and destroyed is so while all tables are published', async () => {
  await apply(database, [receiptCallback()]);
  const patient = { id: String(receiptCallback().data.patient_oid) };
  const options = { actor, keepMs: 365 * 24 * 60 * 60 * 1000, keepsTotals: true };
  const { counts } = await erasePatient(database.db, families, patient, options);
  expect(counts).toMatchObject({ deliveries: 1, withheld: 1 });
  await database.rows('update withheld.records set destroy_at = now()');
  await runRetention(database.db, families, {}, { actor });
  expect(await database.rows('select 1 from withheld.records')).toEqual([]);
});

it('a published table without a key is named by the log, and by doctor with what to do', async () => {
  await holdPatient(database.db, { id: 'one' }, actor);
  await database.rows('alter table patient_holds replica identity nothing');
  try {
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => void lines.push(line) });
    await releasePatient(database.db, { id: 'one' }, actor).catch((err) => log.error({ err }, 'failed'));
    expect(JSON.parse(lines[0]!).err.message).toMatch(/^cannot delete from table "patient_holds"/);
    expect(await findings()).toEqual([
      {
        status: 'fail',
        name: 'publications',
        detail: expect.stringMatching(
          /^patient_holds is .* alter table patient_holds replica identity full$/,
        ),
      },
    ]);
  } finally {
    await database.rows('alter table patient_holds replica identity full');
  }
});
