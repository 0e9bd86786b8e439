import { createLog } from '../../../src/common/log.ts';
import { defineFamily, type Family } from '../../../src/receiver/families/family.ts';
import { amount, notPersonal, text } from '../../../src/receiver/families/field.ts';
import { families } from '../../../src/receiver/families/index.ts';
import { fingerprintOf, migrate } from '../../../src/receiver/store/migrate.ts';
import { useReceiverDatabase } from '../support/database.ts';

const database = useReceiverDatabase();
const log = createLog('silent');
const columns = async (table: string) =>
  Object.fromEntries(
    (
      await database.rows(
        `select attname as name, format_type(atttypid, null) as type from pg_attribute
         where attrelid = $1::regclass and attnum > 0`,
        [`public.${table}`],
      )
    ).map(({ name, type }) => [name, type]),
  );

const invoice = defineFamily({
  name: 'invoice',
  events: { 'invoice.created': 'created' },
  path: { default: ['/invoices'] },
  table: 'invoices',
  identifiedBy: 'invoice_id',
  fields: { invoice_id: notPersonal(text), total: amount },
});

it('every family has a table with its fields under their own names', async () => {
  for (const { table, fields } of families)
    expect(Object.keys(await columns(table))).toEqual(
      expect.arrayContaining([...Object.keys(fields), 'extra']),
    );
  expect(await columns('receipts')).toMatchObject({
    receipt_id: 'bigint',
    net_amount: 'numeric',
    created_at: 'timestamp with time zone',
  });
});

it('a second migration finds nothing to do', async () => {
  expect(await migrate(database.db, families, log)).toEqual([]);
});

it('a new family gets its table, and a new field its column, beside rows', async () => {
  const list: Family[] = [...families, invoice];
  expect(await migrate(database.db, list, log)).toEqual(['invoices']);
  await database.rows(
    `insert into invoices values ('b', '1', 5, 'c', 'invoice.created', now(), null, null, gen_random_uuid())`,
  );
  const wider = { ...invoice, fields: { ...invoice.fields, paid: amount } };
  expect(await migrate(database.db, [...families, wider], log)).toEqual(['invoices']);
  expect(await database.rows('select total, paid from invoices')).toEqual([{ total: '5', paid: null }]);
});

it('a field whose type has changed stops the migration, and names what to do', async () => {
  const other = { ...invoice, fields: { ...invoice.fields, total: text } };
  await expect(migrate(database.db, [other], log)).rejects.toMatchObject({
    cause: { message: expect.stringContaining('total (numeric) to text') },
  });
});

it('the fingerprint is another for each fact that makes rows', () => {
  const wider = { ...invoice, fields: { ...invoice.fields, paid: amount } };
  const moved = { ...invoice, events: { 'invoice.created': 'updated' } } as const;
  const all = [[invoice], [wider], [moved], families].map((list) => fingerprintOf(list));
  expect(new Set(all).size).toBe(4);
});
