import { families } from '../../src/callbacks/families/index.ts';
import { lists } from '../../src/console/lists/definitions.ts';
import { type ColumnKind, viewColumn, viewColumns } from '../../src/receiver/store/view-columns.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { apply } from './apply.ts';

const database = useReceiverDatabase();

beforeAll(async () => {
  const envelope = { business_id: 'b', event_time: 1_700_000_000 };
  const callbacks = families.map((family) =>
    canaryOf(family, { ...envelope, data: { start_time: 1_700_000_000 } }),
  );
  const receipt = { ...callbacks[0]!, event_time: 1_700_000_100 };
  const another = { ...receipt, data: { ...receipt.data, receipt_id: 4712, amount_paid: 0 } };
  const gone = { ...receipt, event: 'receipt.deleted', data: { receipt_id: 4713 } };
  const hidden = { ...callbacks[0]!, data: { ...callbacks[0]!.data, receipt_id: 4713 } };
  await apply(database, [
    ...callbacks,
    another,
    { ...another, data: { ...another.data, receipt_id: 4714 } },
    hidden,
    gone,
  ]);
  await database.rows(`
    insert into receiver.quarantine (id, path, family, business_id, reason, errors, body)
    values (gen_random_uuid(), '/${canary}', 'receipt', 'b', 'invalid', '["${canary}"]', '${canary}');
    insert into receiver.counters values ('drift', '["receipt.created", "/${canary}", "value", "${canary}"]', 1, now(), now());
    update receiver.inbox set received_at = now(), event_time = now();
    insert into receiver.heartbeats values ('2026-01-01'), ('2026-01-02');
    insert into receiver.aliases values ('doctor', 'd', '${canary}', now(), 'platform');
    insert into receiver.pending_deliveries (id, family, next_at, error)
    select id, family, 'infinity', '${canary}' from receiver.inbox where record_id = '4714'`);
});

interface View {
  view: string;
  about: string | null;
  readable: string[] | null;
}

const views = () =>
  database.rows(
    `select relname as view, obj_description(c.oid, 'pg_class') as about,
       array_agg(attname::text) filter (where has_column_privilege('reporting_masked', c.oid, attnum, 'select')) as readable
     from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0
     where relnamespace = 'reporting'::regnamespace group by c.oid, relname order by relname`,
  ) as Promise<unknown> as Promise<View[]>;

async function as<T>(
  role: string,
  run: (rows: (query: string) => Promise<Record<string, unknown>[]>) => Promise<T>,
) {
  const session = await database.pool.connect();
  try {
    await session.query(`set role ${role}`);
    return await run(async (query) => (await session.query(query)).rows);
  } finally {
    session.release(true);
  }
}

it('every view has a comment', async () => {
  expect((await views()).filter(({ about }) => !about)).toEqual([]);
});

it('every column of the views that an accountant opens has a comment', async () => {
  const opened = ['receipts', 'payments', 'outstanding_receipts', 'appointments', 'consent_forms'].concat(
    ['receipts', 'doctors', 'clinics', 'businesses', 'appointments', 'deliveries'].map(
      (name) => `${name}_daily`,
    ),
  );
  const silent = await database.rows(
    `select relname, attname from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0
     where relnamespace = 'reporting'::regnamespace and relname = any($1) and col_description(c.oid, attnum) is null`,
    [opened],
  );
  const names = (await views()).map(({ view }) => view);
  expect(names).toEqual(expect.arrayContaining(opened));
  expect(silent).toEqual([]);
});

const tables = [...families.map(({ table }) => `public.${table}`), 'public.deliveries', 'public.quarantine'];

it('reporting_reader reads every view, the tables of families and the public views, and changes nothing', () =>
  as('reporting_reader', async (rows) => {
    for (const { view } of await views())
      expect([view, (await rows(`table reporting.${view}`)).length]).not.toEqual([view, 0]);
    for (const table of tables) expect((await rows(`table ${table}`)).length).toBeGreaterThan(0);
    expect(await rows('select from reporting.receipts_as_of(now())')).toHaveLength(4);
    for (const query of [
      'delete from reporting.consent_forms',
      'delete from receipts',
      'table receiver.inbox',
    ])
      await expect(rows(query)).rejects.toMatchObject({ code: '42501' });
  }));

const typesOf: Partial<Record<ColumnKind, RegExp>> = {
  day: /^date$/,
  moment: /^timestamp with time zone$/,
  interval: /^interval$/,
  amount: /^numeric$/,
  count: /^(bigint|integer)$/,
  share: /^numeric$/,
  flag: /^boolean$/,
  json: /^jsonb$/,
  person: /^text$/,
  phone: /^text$/,
  text: /^text$/,
};

it('each column of a view has its kind, which fits its type, and no column has one that neither a view nor a list has', async () => {
  const columns = await database.rows(`
    select distinct attname as name, format_type(atttypid, null) as type
    from pg_attribute join pg_class c on c.oid = attrelid
    where relnamespace = 'reporting'::regnamespace and relkind = 'v' and attnum > 0 and not attisdropped`);
  expect(columns.map(({ name }) => name).filter((name) => !viewColumns.has(name as string))).toEqual([]);
  const misfits = columns.filter(
    ({ name, type }) => !(typesOf[viewColumn(name as string).kind] ?? /./).test(type as string),
  );
  expect(misfits).toEqual([]);
  const listed = lists.flatMap((list) => [...list.columns, ...list.also]);
  const known = new Set([...columns.map(({ name }) => name), ...listed, 'age', 'before_amount', 'change']);
  expect([...viewColumns.keys()].filter((name) => !known.has(name))).toEqual([]);
});

it('reporting_masked reads of every view what is not personal, and no table', () =>
  as('reporting_masked', async (rows) => {
    for (const { view, readable } of await views()) {
      const found = await rows(`select ${readable!.map((name) => `${name}::text`)} from reporting.${view}`);
      expect([view, found.length]).not.toEqual([view, 0]);
      expect([view, JSON.stringify(found)]).toEqual([view, expect.not.stringContaining(canary)]);
    }
    for (const query of [
      ...tables.map((name) => `select from ${name}`),
      'select from reporting.receipts_as_of(now())',
    ])
      await expect(rows(query)).rejects.toMatchObject({ code: '42501' });
  }));

it('a merge looks rows up by their keys, also of a new table: every other index of it is partial', async () => {
  const others = `select indexrelid::regclass::text as name, indpred is not null as is_partial from pg_index
    where indrelid::regclass::text = any($1) and not indisprimary`;
  const found = await database.rows(others, [families.map(({ table }) => table)]);
  expect(found.length).toBeGreaterThan(3);
  expect(found.filter(({ is_partial }) => !is_partial)).toEqual([]);
});
