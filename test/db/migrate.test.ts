import type { Family } from '../../src/callbacks/families/family.ts';
import { text } from '../../src/callbacks/families/field.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { migrate } from '../../src/receiver/store/migrate.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const dayOf = async () =>
  (await database.rows(`select reporting.day('2026-03-01T19:00Z')::text as day`))[0]!.day;
const mayRead = (role: string, column: string) =>
  database
    .rows(`select has_column_privilege($1, 'reporting.all_receipts', $2, 'select') as may`, [role, column])
    .then(([row]) => row!.may);
/** The documented families, with another type of a field that the views show. */
const [receipt, ...others] = families as readonly Family[];
const changed = [{ ...receipt!, fields: { ...receipt!.fields, archive: text } }, ...others];

it('views are made again when they have changed, and keep rights and what others have made of them', async () => {
  await database.rows(`
    create view mine as select name from reporting.receipts;
    create view reporting.former as select 1;
    update receiver.settings set value = value || ', reporting.former' where name = 'reporting_views';
    grant select on reporting.receipts to public`);
  expect(await dayOf()).toBe('2026-03-02');
  const index = () => database.rows(`select 'receipts_day'::regclass::oid`);
  const before = await index();
  expect(await migrate(database.db, families, log, 'UTC')).toEqual(['reporting']);
  expect(await dayOf()).toBe('2026-03-01');
  expect(await index()).not.toEqual(before);
  expect(await database.rows('select * from mine')).toEqual([]);
  expect(
    await database.rows(
      `select to_regclass('reporting.former') as former, has_table_privilege('public', 'reporting.receipts', 'select') as may`,
    ),
  ).toEqual([{ former: null, may: true }]);
  expect(await migrate(database.db, families, log, 'UTC')).toEqual([]);
  await expect(migrate(database.db, families, log, 'Mars/Olympus')).rejects.toThrow();
  expect(await dayOf()).toBe('2026-03-01');
});

it('the type of a column changes with the views that show it; views of others stop it, and are named', async () => {
  await database.rows('create view mine as select archive from reporting.receipts');
  const failing = async (list: readonly Family[]) => {
    const { cause } = await migrate(database.db, list, log).catch((failure) => failure);
    expect(cause).toMatchObject({ name: 'TablesRefused' });
    return cause.message as string;
  };
  expect(await failing(changed)).toMatch(/view mine depends on/);
  await database.rows(`
    drop view mine;
    create view mine as select archive from receipts;
    create view other as select receipt_id from receipts`);
  expect(await failing(changed)).toMatch(/^The type of archive cannot be changed: .* view mine depends/);
  await database.rows('drop view mine');
  // Rows are found by their key.
  const keyed = [{ ...receipt!, fields: { ...receipt!.fields, receipt_id: text } }, ...others];
  expect(await failing(keyed)).toContain('receipt_id (bigint) to text');
  expect(await migrate(database.db, changed, log)).toEqual(['receipts', 'reporting']);
  expect(
    await database.rows(
      `select format_type(atttypid, null) as type from pg_attribute where attrelid = 'reporting.receipts'::regclass and attname = 'archive'`,
    ),
  ).toEqual([{ type: 'text' }]);
  expect(await mayRead('reporting_reader', 'name')).toBe(true);
  expect(await mayRead('reporting_masked', 'net_amount')).toBe(true);
  expect(await mayRead('reporting_masked', 'name')).toBe(false);
});
