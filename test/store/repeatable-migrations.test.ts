import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/store/migrate.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { ownSchema, readCatalogue, withSchema } from '../support/schema.ts';

let database: TestDatabase;
const user = `user_${randomBytes(4).toString('hex')}`;
beforeEach(async () => {
  database = await createDatabase();
  await database.pool.query(`create role ${user}`);
});
afterEach(async () => {
  await database.pool.query(`drop owned by ${user}; drop role ${user}`);
  await database.close();
});

/** A file of db/reporting in which a text is replaced. */
function changed(file: string, from: string, to: string): Record<string, string> {
  const text = readFileSync(join(ownSchema, 'reporting', file), 'utf8');
  expect(text).toContain(from);
  return { [`reporting/${file}`]: text.replaceAll(from, () => to) };
}

const withoutPdf = changed('1_receipts.sql', 'payment_link, receipt_url as pdf_url\n', 'payment_link\n');

const columnsOf = async (view: string) =>
  (
    await database.rows(
      `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
      [view],
    )
  ).map(({ attname }) => attname);

it('a column that receipts and their versions gain is one of every view of receipts that shows it', async () => {
  await apply(database, [receiptCallback()]);
  const gained = {
    'migrations/9001_made_up.sql':
      'alter table receipts add column made_up numeric; alter table receipt_versions add column made_up numeric;',
    ...changed('1_receipts.sql', ', applied_at\n  $$;\n', ', applied_at, made_up as made_up_amount\n  $$;\n'),
  };
  await withSchema(gained, async (folder) => {
    expect(await migrate(database.db, undefined, folder)).toEqual(['9001_made_up', 'reporting']);
    for (const view of ['all_receipts', 'receipts', 'deleted_receipts', 'receipt_history']) {
      expect([view, (await columnsOf(`reporting.${view}`)).at(-1)]).toEqual([view, 'made_up_amount']);
    }
    expect(await database.rows('select made_up_amount from reporting.receipts_as_of(now())')).toEqual([
      { made_up_amount: null },
    ]);
    await apply(database, [receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_009 })]);
    expect(await database.rows('select from receipt_versions')).toHaveLength(1);
  });
});

it('views that gain columns are replaced in place: grants, revocations and the views of others stay', async () => {
  await database.pool.query(`
    grant select on reporting.outstanding_receipts to ${user};
    revoke select on reporting.receipts from reporting_reader;
    create view dues as select * from reporting.outstanding_receipts;
    create view reporting.own as select * from dues`);
  const before = await readCatalogue(database);
  const more = changed(
    '1_receipts.sql',
    'payment_link, receipt_url as pdf_url\n',
    'payment_link, receipt_url as pdf_url, remarks\n',
  );
  await withSchema(more, async (folder) => {
    expect(await migrate(database.db, undefined, folder)).toEqual(['reporting']);
    expect(await migrate(database.db, undefined, folder)).toEqual([]);
    expect(await columnsOf('reporting.outstanding_receipts')).toContain('remarks');
    const after = await readCatalogue(database);
    const about = (line: string) => /^\w+ \| (public\.dues|reporting\.own|reporting\.receipts)\b/.test(line);
    const acl = (line: string) => line.startsWith('relation | reporting.outstanding_receipts ');
    for (const part of [about, acl]) expect(after.filter(part)).toEqual(before.filter(part));
  });
});

it('views that lose columns keep their grants and revocations; an older version restores the columns', async () => {
  await database.pool.query(`
    grant select on reporting.outstanding_receipts to ${user} with grant option;
    grant select (name, pdf_url) on reporting.receipts to ${user};
    grant select on reporting.receipts_daily to public;
    revoke select on reporting.receipts from reporting_reader`);
  const before = await readCatalogue(database);
  await withSchema(withoutPdf, async (folder) => {
    expect(await migrate(database.db, undefined, folder)).toEqual(['reporting']);
    expect(await columnsOf('reporting.outstanding_receipts')).not.toContain('pdf_url');
    const lost = 'column | reporting.outstanding_receipts.pdf_url ';
    const parts = (lines: string[]) =>
      lines.filter((line) => !/^view \| /.test(line) && !line.startsWith(lost));
    expect(parts(await readCatalogue(database))).toEqual(parts(before));
  });
  expect(await migrate(database.db)).toEqual(['reporting']);
  expect(await readCatalogue(database)).toEqual(before);
});

it('a view that another user’s view depends on is not dropped: the error names that view, and nothing changes', async () => {
  await database.pool.query('create view dues as select pdf_url from reporting.outstanding_receipts');
  const before = await readCatalogue(database);
  await withSchema(withoutPdf, async (folder) => {
    await expect(migrate(database.db, undefined, folder)).rejects.toMatchObject({
      message: 'The database could not be migrated (reporting)',
      cause: {
        message: expect.stringMatching(
          /view dues depends on view reporting\.outstanding_receipts\).* create them again/,
        ),
      },
    });
    expect(await readCatalogue(database)).toEqual(before);
    await database.pool.query('drop view dues');
    expect(await migrate(database.db, undefined, folder)).toEqual(['reporting']);
  });
});

it('a migration may drop a column that views read: they are re-created without it, with their grants', async () => {
  await database.pool.query(`grant select on reporting.receipts to ${user}`);
  const files = {
    'migrations/9001_no_flavour.sql':
      'alter table receipts drop column flavour; alter table receipt_versions drop column flavour;',
    ...changed('1_receipts.sql', ' flavour,', ''),
  };
  await withSchema(files, async (folder) => {
    expect(await migrate(database.db, undefined, folder)).toEqual(['9001_no_flavour', 'reporting']);
  });
  expect(await columnsOf('reporting.receipts')).not.toContain('flavour');
  expect(
    await database.rows(`select has_table_privilege($1, 'reporting.receipts', 'select') as may`, [user]),
  ).toEqual([{ may: true }]);
  expect(await database.rows('select * from saved_grants')).toEqual([]);
});
