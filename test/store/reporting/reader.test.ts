import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { withClient } from '../../../src/store/pool.ts';
import { receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply } from '../../support/deliveries.ts';

const database = useDatabase();
beforeAll(async () => {
  await apply(database, [receiptCallback()]);
});

async function asReader(query: string): Promise<unknown[]> {
  const session = await database.pool.connect();
  try {
    await session.query('set role reporting_reader');
    return (await session.query(query)).rows;
  } finally {
    session.release(true);
  }
}

const relations = (schema: string) =>
  database.rows(
    `select format('%I.%I', relnamespace::regnamespace, relname) as name from pg_class
     where relnamespace = $1::regnamespace and relkind in ('r', 'v', 'm', 'p') order by 1`,
    [schema],
  );

it('the role reporting_reader can read every view and function of the reports', async () => {
  const views = await relations('reporting');
  expect(views.length).toBeGreaterThan(10);
  for (const { name } of views) await asReader(`select * from ${name}`);
  expect(await asReader(`select receipt_id from reporting.receipts`)).toEqual([{ receipt_id: '4711' }]);
  expect(await asReader(`select receipt_id from reporting.receipts_as_of(now())`)).toHaveLength(1);
  expect(await asReader(`select reporting.today() = reporting.day(now()) as same`)).toEqual([{ same: true }]);
});

it('a login that is made as docs/reporting.md says shows times on the day that the report counts them to', async () => {
  const name = `bi_${randomBytes(6).toString('hex')}`;
  const [, recipe] = /```sql\n(create role metabase [\s\S]*?)```/.exec(
    readFileSync('docs/reporting.md', 'utf8'),
  )!;
  await database.pool.query(recipe!.replaceAll('metabase', name));
  const url = Object.assign(new URL(database.url), { username: name, password: 'choose one' }).href;
  const created_at = Date.parse('2026-03-01T20:30:00Z');
  await apply(database, [receiptCallback({ data: { receipt_id: 4712, created_at } })]);
  try {
    const { rows } = await withClient(url, (client) =>
      client.query('select issued_at::text, day::text from reporting.receipts where receipt_id = 4712'),
    );
    expect(rows).toEqual([{ issued_at: '2026-03-02 02:00:00+05:30', day: '2026-03-02' }]);
  } finally {
    await database.pool.query(`drop role ${name}`);
    await database.pool.query('delete from receipts where receipt_id = 4712');
  }
});

it('the role reporting_reader cannot read any table', async () => {
  const tables = await relations('public');
  expect(tables.map(({ name }) => name)).toContain('public.receipts');
  for (const { name } of tables) {
    await expect(asReader(`select * from ${name}`)).rejects.toMatchObject({ code: '42501' });
  }
});

it('the role reporting_reader cannot change anything', async () => {
  // As docs/database.md says for PostgreSQL 14.
  await database.pool.query('revoke create on schema public from public');
  for (const statement of [
    'delete from reporting.receipts',
    `update reporting.receipts set name = ''`,
    `select reporting.write_zone('UTC')`,
    'create table reporting.mine ()',
    'create table public.mine ()',
  ]) {
    await expect(asReader(statement)).rejects.toMatchObject({ code: '42501' });
  }
});
