import { readFileSync, writeFileSync } from 'node:fs';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase();

/** As `pg` reads them. */
const types: Record<string, string> = {
  text: 'string',
  uuid: 'string',
  bigint: 'string',
  numeric: 'string',
  integer: 'number',
  boolean: 'boolean',
  date: 'Date',
  'timestamp with time zone': 'Date',
  interval: '{ days?: number; hours?: number; minutes?: number; seconds?: number; milliseconds?: number }',
  jsonb: 'unknown',
  bytea: 'Buffer',
  'text[]': 'string[]',
  tsvector: 'string',
};

function typeOf(name: string): string {
  const type = types[name];
  if (!type) throw new Error(`no type for ${name}`);
  return type;
}

const relations = `
  select case nspname when 'public' then relname else quote_literal(nspname || '.' || relname) end as name,
    relkind = 'v' as is_view,
    array_agg(array[attname::text, format_type(atttypid, null), (relkind = 'r' and not attnotnull)::text] order by attnum) as columns
  from pg_class c join pg_namespace n on n.oid = relnamespace join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
  where nspname in ('public', 'reporting') and relkind in ('r', 'v')
  group by nspname, relname, relkind order by nspname, relname`;

const functions = `
  select quote_literal('reporting.' || proname) as name, proretset, format_type(prorettype, null) as type
  from pg_proc where pronamespace = 'reporting'::regnamespace order by proname`;

interface Relation {
  name: string;
  is_view: boolean;
  columns: [name: string, type: string, isOptional: string][];
}

/** One line for each, so that a change of a view is a changed line. */
async function typesOfDatabase(): Promise<string> {
  const tables = (await database.rows(relations)) as unknown as Relation[];
  const tableLines = tables.map(({ name, is_view, columns }) => {
    const row = columns.map(([column, type, isOptional]) => {
      const read = column === 'extra' ? 'Record<string, unknown>' : typeOf(type);
      return `${column}: ${read}${isOptional === 'true' ? ' | null' : ''}`;
    });
    return `  ${name}: ${is_view ? 'View<' : ''}{ ${row.join('; ')} }${is_view ? '>' : ''};`;
  });
  const functionLines = (await database.rows(functions)).map(({ name, proretset, type }) =>
    proretset ? `  ${name}: Tables['${type}'];` : `  ${name}: ${typeOf(type as string)} | null;`,
  );
  return `// Kysely's types of what people query, as \`pg\` reads it: amounts and bigints are texts, a day is a Date of this machine's zone.
// Made from the database: UPDATE=1 npx tsx test/run.ts tests test/db/tables.test.ts

/** PostgreSQL does not say which columns of a view are never null. */
type View<Row> = { [Column in keyof Row]: Row[Column] | null };

/** A family of one's own joins them by declaration merging: \`interface Tables { invoices: RowOf<typeof invoice> }\`. */
export interface Tables {
${tableLines.join('\n')}
}

/** What the functions return; of one that returns rows, a row. */
export interface Functions {
${functionLines.join('\n')}
}
`;
}

const ownTables = `
  select quote_literal(nspname || '.' || relname) as name,
    array_agg(array[attname::text, format_type(atttypid, null), (not attnotnull)::text, atthasdef::text, attidentity::text] order by attnum)
      as columns
  from pg_class c join pg_namespace n on n.oid = relnamespace join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
  where relkind = 'r' and (nspname = 'receiver' or relname = 'access_log')
  group by nspname, relname order by 1`;

interface OwnTable {
  name: string;
  columns: [name: string, type: string, isOptional: string, hasDefault: string, identity: string][];
}

/** What may be written is more than what is read. */
const writtenTypes: Record<string, string> = {
  bigint: 'Int8',
  date: 'Time',
  'timestamp with time zone': 'Time',
  jsonb: 'JSONColumnType<object>',
};

async function typesOfOwnTables(): Promise<string> {
  const tables = (await database.rows(ownTables)) as unknown as OwnTable[];
  const lines = tables.map(({ name, columns }) => {
    const row = columns.map(([column, type, isOptional, hasDefault, identity]) => {
      const read = `${writtenTypes[type] ?? typeOf(type)}${isOptional === 'true' ? ' | null' : ''}`;
      if (identity) return `${column}: GeneratedAlways<${typeOf(type)}>`;
      return `${column}: ${hasDefault === 'true' ? `Default<${read}>` : read}`;
    });
    return `  ${name}: { ${row.join('; ')} };`;
  });
  return `// Kysely's types of the receiver's own tables: times are dates, bigints texts. src/receiver/store/tables.ts has what PostgreSQL
// does not know of them. Made from the database: UPDATE=1 npx tsx test/run.ts tests test/db/tables.test.ts
import type { ColumnType, GeneratedAlways, JSONColumnType } from 'kysely';

type Time = ColumnType<Date, Date | string, Date | string>;
type Int8 = ColumnType<string, string | number, string | number>;
type Default<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>;

export interface OwnTables {
${lines.join('\n')}
}
`;
}

function expectFile(file: string, found: string): void {
  if (process.env.UPDATE) writeFileSync(file, found);
  expect(readFileSync(file, 'utf8')).toBe(found);
}

it('webhook-receiver/tables has the tables, views and functions that people query, with the types of their columns', async () => {
  expectFile('db/tables.d.ts', await typesOfDatabase());
});

it('statements are compiled against the columns that the receiver’s own tables have', async () => {
  expectFile('db/own-tables.d.ts', await typesOfOwnTables());
});
