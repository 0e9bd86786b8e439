import { readFile } from 'node:fs/promises';
import { type Family, families, readKey } from '../../src/families/index.ts';
import { rowsMadeOf } from '../../src/families/rows.ts';
import { versionOrderFile } from '../../src/families/version-order.ts';
import { samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

const around = {
  business_id: 'text',
  client_id: 'text',
  last_event: 'text',
  event_time: 'timestamp with time zone',
  deleted_at: 'timestamp with time zone',
  extra: 'jsonb',
  delivery_id: 'uuid',
};

const folded = { carried: 'jsonb' };
const first = { first_event_time: 'timestamp with time zone' };
const times = { received_at: 'timestamp with time zone', applied_at: 'timestamp with time zone' };

async function columnsOf(table: string): Promise<Record<string, unknown>> {
  const rows = await database.rows(
    `select attname, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );
  return Object.fromEntries(rows.map(({ attname, type }) => [attname, type]));
}

async function expectedColumns({
  fields,
  versions,
  identifiedBy,
  createdAt,
}: Family): Promise<Record<string, unknown>> {
  const types = Object.entries(fields).map(
    ([name, { json, column }]) => `pg_typeof(${column(`null::${json}`)})::text as "${name}"`,
  );
  const [row] = await database.rows(`select ${types.join(', ')}`);
  return { ...around, ...row, ...(identifiedBy && folded), ...(createdAt && first), ...(versions && times) };
}

it.each(families.map((family: Family) => [family.name, family] as const))(
  'no field of %s has the name of a column that every table has: the field would replace it',
  (_, { fields }) => {
    const common = { ...around, ...folded, ...first, ...times };
    expect(Object.keys(fields).filter((name) => name in common)).toEqual([]);
  },
);

it.each(families.map((family: Family) => [family.table, family] as const))(
  'the table %s has a column of the right type for each field of its family, the common ones, and no other',
  async (table, family) => {
    expect(await columnsOf(table)).toEqual(await expectedColumns(family));
  },
);

it.each(families.flatMap((family: Family) => (family.versions ? [[family.versions, family] as const] : [])))(
  'the table %s has the columns of its family’s table, in the same order',
  async (versions, family) => {
    const [those, own] = [await columnsOf(versions), await columnsOf(family.table)];
    expect(Object.entries(those)).toEqual(Object.entries(own));
  },
);

it.each(families.flatMap((family: Family) => (family.versions ? [[family.table, family] as const] : [])))(
  'a version of %s consists of every column that the worker writes',
  async (table, family) => {
    const [row] = await database.rows('select version_columns($1) as columns', [table]);
    const columns = String(row!.columns).split(', ');
    expect(columns.toSorted()).toEqual(rowsMadeOf(family, 'inbox').columns.toSorted());
  },
);

it.each(families.map((family: Family) => [family.name, family] as const))(
  'the functions thing_of and thing_family know what a delivery of %s is about',
  async (name, family) => {
    const envelope = samples[name as keyof typeof samples]();
    const [found] = await database.rows(
      `select thing_of(family, envelope) as thing, thing_family(family) as family, (${readKey(family, 'd') ?? 'null'})::text as key
       from (select $1::text as family, $2::jsonb as envelope) d`,
      [name, JSON.stringify(envelope)],
    );
    const { identifiedBy, partOf } = family;
    expect(found).toEqual({
      thing: partOf ? 'adm-1' : identifiedBy ? String(found!.key) : null,
      family: partOf ?? name,
      key: identifiedBy ? expect.stringMatching(/./) : null,
    });
  },
);

it('the order of versions in SQL is that of the families', async () => {
  const file = await readFile('db/reporting/0_version_order.sql', 'utf8');
  expect(file).toBe(versionOrderFile(families));
});
