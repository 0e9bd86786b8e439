import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Family, families } from '../../../src/families/index.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { receiptCallback } from '../../support/callbacks.ts';
import { canary, canaryOf } from '../../support/canary.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, moveApplied } from '../../support/deliveries.ts';
import { ownSchema, withSchema } from '../../support/schema.ts';

const database = useDatabase({ per: 'test' });

/** The fields that their family does not mark with `notPersonal`. The role reads ids of patients. */
const personal = (families as readonly Family[])
  .flatMap(({ fields }) => Object.entries(fields))
  .filter(([name, field]) => field.personal !== false && name !== 'patient_id')
  .map(([name]) => name);

/** Columns that reporting_masked may not read: those with the name of a personal field, and these. */
const hidden = new Set([
  ...personal,
  'transaction_reference',
  'pdf_url',
  'send_pdf_url',
  'print_pdf_url',
  'patient_ids',
  'inpatient_number',
  'doctor',
  'new_value',
  'made_by',
  'billing_name',
  'billing_phone',
  'link_error',
  'rrn',
  'data',
  // Everything.
  'statement',
  // Text of errors, and fields and values that nobody documented.
  'error',
  'field',
  'value',
  // Names for ids, which may be those of doctors.
  'id',
  'alias',
]);

interface Column {
  view: string;
  name: string;
  readable: boolean;
}

const columns = () =>
  database.rows(
    `select relname as view, attname as name, has_column_privilege('reporting_masked', c.oid, attnum, 'select') as readable
     from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
     where relnamespace = 'reporting'::regnamespace order by 1, attnum`,
  ) as Promise<unknown> as Promise<Column[]>;

async function asMasked(query: string): Promise<Record<string, unknown>[]> {
  const session = await database.pool.connect();
  try {
    await session.query('set role reporting_masked');
    return (await session.query(query)).rows;
  } finally {
    session.release(true);
  }
}

it('the role reporting_masked reads every view, and finds nothing personal in them but ids of patients', async () => {
  const receipt = (receipt_id: number, more = {}) => canaryOf(families[0], { ...more, data: { receipt_id } });
  await apply(database, [
    ...families.map((family) => canaryOf(family, { data: { start_time: 1_700_000_000 } })),
    receipt(1),
    receipt(1, { event: 'receipt.deleted', event_time: 1_700_000_100 }),
    receipt(4711, { event: 'receipt.updated', event_time: 1_700_000_100 }),
    receipt(2),
  ]);
  await moveApplied(database, `id = (select delivery_id from receipts where receipt_id = 2)`, 'failed');
  await database.pool.query(`
    update failed_deliveries set error = '${canary}';
    update applied_deliveries set received_at = now(), applied_at = now();
    insert into quarantine (id, path, reason, errors, body)
    values (gen_random_uuid(), '/${canary}', 'invalid', '[{"path": "/${canary}", "message": "${canary}"}]', '${canary}');
    insert into schema_drift (event, field, kind, value, count, first_seen, last_seen, example_delivery)
    values ('receipt.created', '/data/${canary}', 'value', '${canary}', 1, now(), now(), gen_random_uuid());
    insert into uptime values ('2026-01-01', '2026-01-02'), ('2026-01-03', '2026-01-04');
    update receipts set received_at = '2000-01-01';
    delete from receipt_versions where receipt_id = 4711;
    insert into aliases (kind, id, alias, updated_by) values ('doctor', '${canary}', '${canary}', '${canary}')`);

  const all = await columns();
  expect(new Set(all.map(({ view }) => view)).size).toBeGreaterThan(30);
  const session = await database.pool.connect();
  await session.query('set role reporting_masked');
  for (const { view, name } of all.filter(({ readable }) => !readable)) {
    await expect(session.query(`select ${name} from reporting.${view}`)).rejects.toMatchObject({
      code: '42501',
    });
  }
  for (const view of new Set(all.map((column) => column.view))) {
    const columns = all.filter((column) => column.view === view && column.readable);
    const texts = columns.map(({ name }) => `${name}::text`);
    const { rows } = await session.query(`select ${texts} from reporting.${view}`);
    expect([view, rows.length]).not.toEqual([view, 0]);
    for (const { name } of columns) {
      const values = JSON.stringify(rows.map((row) => row[name]));
      if (name === 'patient_id') expect(values).toContain(canary);
      else expect([view, name, values]).toEqual([view, name, expect.not.stringContaining(canary)]);
    }
  }
  session.release(true);
});

it('every column of the reports is either readable by reporting_masked, or a personal field or listed here as hidden', async () => {
  const undecided = (await columns())
    .filter(({ name, readable }) => readable === hidden.has(name))
    .map(({ view, name, readable }) =>
      readable
        ? `reporting.${view}.${name} is a personal field or listed as hidden, and can be read: see db/reporting/6_masked.sql`
        : `May reporting_masked read reporting.${view}.${name}? If it can never hold a name, a number, a link or free ` +
          'text, list its view and name in db/reporting/6_masked.sql; otherwise list it in `hidden` of this test',
    );
  expect(undecided).toEqual([]);
});

it('the role reporting_masked reads no table, no history as of a moment, and changes nothing', async () => {
  await apply(database, [receiptCallback()]);
  const tables = await database.rows(
    `select oid::regclass as name from pg_class
     where relkind in ('r', 'v') and relnamespace in ('public'::regnamespace, 'withheld'::regnamespace)`,
  );
  for (const query of [
    ...tables.map(({ name }) => `select from ${name}`),
    'select * from reporting.receipts',
    'select receipt_id from reporting.receipts_as_of(now())',
    `select reporting.write_zone('UTC')`,
    'delete from reporting.receipts',
    'create table reporting.mine ()',
  ]) {
    await expect(asMasked(query)).rejects.toMatchObject({ code: expect.stringMatching('42501|3F000') });
  }
  expect(await asMasked('select reporting.today() = reporting.day(now()) as same')).toEqual([{ same: true }]);
  expect(await asMasked('select count(*)::int as n from reporting.receipts')).toEqual([{ n: 1 }]);
});

it('a BI tool that asks for the columns gets those that the role can read', async () => {
  const shown = await asMasked(
    `select table_name as view, column_name as name from information_schema.columns where table_schema = 'reporting'`,
  );
  const readable = (await columns()).filter((column) => column.readable);
  const keys = (list: object[]) => list.map((column) => Object.values(column).slice(0, 2).join('.')).sort();
  expect(keys(shown)).toEqual(keys(readable));
});

/** A file of db/reporting in which a text is replaced. */
function changed(file: string, from: string, to: string): Record<string, string> {
  const text = readFileSync(join(ownSchema, 'reporting', file), 'utf8');
  expect(text).toContain(from);
  return { [`reporting/${file}`]: text.replaceAll(from, () => to) };
}

it('views that are dropped and re-created can be read as before; a column that is no longer listed cannot', async () => {
  const before = await columns();
  const withoutPdf = changed('1_receipts.sql', 'payment_link, receipt_url as pdf_url\n', 'payment_link\n');
  const kept = before.filter(({ view, name }) => !(view === 'outstanding_receipts' && name === 'pdf_url'));
  await withSchema(withoutPdf, async (folder) => {
    await migrate(database.db, undefined, folder);
    expect(await columns()).toEqual(kept);
  });
  await migrate(database.db);
  expect(await columns()).toEqual(before);
  const fewer = changed('6_masked.sql', `'patient_id', `, '');
  const withoutPatients = (list: Column[]) =>
    list.map((column) => (column.name === 'patient_id' ? { ...column, readable: false } : column));
  await withSchema({ ...withoutPdf, ...fewer }, async (folder) => {
    await migrate(database.db, undefined, folder);
    expect(await columns()).toEqual(withoutPatients(kept));
  });
  await migrate(database.db);
  await withSchema(fewer, async (folder) => {
    await migrate(database.db, undefined, folder);
    expect(await columns()).toEqual(withoutPatients(before));
  });
});

it('a view that somebody else made in the schema is left alone', async () => {
  await database.pool.query(
    `create view reporting.own as select name as status, 1 as number from reporting.receipts`,
  );
  const withoutChange = changed('6_masked.sql', 'do $$', ' do $$');
  await withSchema(withoutChange, async (folder) => {
    expect(await migrate(database.db, undefined, folder)).toEqual(['reporting']);
  });
  const own = (await columns()).filter(({ view }) => view === 'own');
  expect(own.map(({ readable }) => readable)).toEqual([false, false]);
});
