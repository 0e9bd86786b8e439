import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

/** The receiver's tables that contain rows in a new database. */
const filledByMigrations = ['database_identity', 'erasure_salt'];

/** A trigger adds rows to it while receipts are copied. */
const lastCopied = ['outdated_terms'];

// The queue's jobs are made again by the sweep; what was migrated, and which process works, is known of each database. A table that
// refers to another comes after it.
const listTables = `
  select c.oid::regclass::text as name, columns
  from pg_class c, lateral (
    select array_agg(quote_ident(attname)::text order by attname) as columns
    from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = ''
  ) attributes
  where relkind = 'r' and relpersistence <> 't' and columns is not null 
    and relname not in ('receiver_migrations', 'leases', 'lease_tokens')
    and relnamespace::regnamespace::text !~ '^(pg_.*|information_schema|bullmq)$'
  order by relname in (${lastCopied.map((name) => `'${name}'`).join(', ')}), exists (select from pg_constraint where conrelid = c.oid and contype = 'f'), name`;

interface Table {
  name: string;
  /** Without generated ones. */
  columns: string[];
}

export interface CopyReport {
  /** Called before the copy begins, unless a former call had made it. */
  beforeCopy: () => Promise<void>;
  onTotal: (rows: number) => void;
  onRows: (rows: number) => void;
  /** Called when the copy is complete and compared, before it is committed. */
  beforeCommit: () => void;
}

/**
 * Copies every row of the receiver's tables to a migrated database without data, in one transaction, and compares both.
 *
 * @param source nobody else writes to it
 * @param target of the same migrations
 * @returns `leftOut`: tables and columns of others, which the target lacks; `wasThere`: whether a former call had made the
 *   copy
 * @throws Error where the target contains data, unless it is that of the source
 */
export async function copyDatabase(source: pg.Client, target: pg.Client, report: CopyReport) {
  await target.query('begin');
  const there = new Map((await target.query<Table>(listTables)).rows.map((table) => [table.name, table]));
  const tables: Table[] = [];
  const leftOut: string[] = [];
  for (const { name, columns } of (await source.query<Table>(listTables)).rows) {
    const known = columns.filter((column) => there.get(name)?.columns.includes(column));
    if (known.length > 0) tables.push({ name, columns: known });
    const unknown = columns.filter((column) => !known.includes(column));
    leftOut.push(...(known.length > 0 ? unknown.map((column) => `${name}.${column}`) : [name]));
  }
  const names = tables.map(({ name }) => name).join(', ');
  // A service that is started on the target waits.
  await target.query(`lock table ${names} in access exclusive mode`);
  const filled = await findFilled(target, tables);
  const wasThere = filled.length > 0;
  if (wasThere && (await readIdentity(source)) !== (await readIdentity(target))) {
    throw new Error(`The target contains data (${filled.join(', ')}). Name an empty database`);
  }
  if (!wasThere) await report.beforeCopy();

  await source.query('begin isolation level repeatable read read only');
  // The hashes are of times as text.
  for (const client of [source, target]) await client.query(`set local timezone = 'UTC'`);
  const expected: Awaited<ReturnType<typeof readContents>>[] = [];
  for (const table of tables) expected.push(await readContents(source, table));
  const rows = expected.reduce((sum, table) => sum + table.rows, 0);
  if (!wasThere) {
    report.onTotal(rows);
    for (const name of filledByMigrations) await target.query(`delete from ${name}`);
    const { rows: zones } = await source.query('select reporting.timezone() as zone');
    await target.query('select reporting.write_zone($1)', [zones[0].zone]);
    for (const table of tables) {
      if (lastCopied.includes(table.name)) await target.query(`delete from ${table.name}`);
      await copyTable(source, target, table, report.onRows);
    }
    await target.query(
      `select setval(pg_get_serial_sequence('access_log', 'entry'), max(entry)) from access_log`,
    );
  }
  const different: string[] = [];
  for (const [index, table] of tables.entries()) {
    const [wanted, found] = [expected[index]!, await readContents(target, table)];
    if (found.rows !== wanted.rows || found.sum !== wanted.sum)
      different.push(`${table.name} has ${wanted.rows} rows here and ${found.rows} there`);
  }
  if (different.length > 0) {
    const cause = wasThere
      ? 'The target contains this database, and one of them was used since'
      : 'The copy is not equal';
    throw new Error(`${cause}: ${different.join(', ')}`);
  }
  report.beforeCommit();
  await target.query('commit');
  await target.query('analyze');
  return { rows, tables: tables.length, leftOut, wasThere };
}

async function copyTable(
  source: pg.Client,
  target: pg.Client,
  { name, columns }: Table,
  onRows: CopyReport['onRows'],
): Promise<void> {
  // In the text format a row is a line.
  const counter = new Transform({
    transform(chunk: Buffer, _, done) {
      let rows = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) rows += 1;
      onRows(rows);
      done(null, chunk);
    },
  });
  await pipeline(
    source.query(copyTo(`copy ${name} (${columns.join(', ')}) to stdout`)),
    counter,
    target.query(copyFrom(`copy ${name} (${columns.join(', ')}) from stdin`)),
  );
}

/** The number of a table's rows, and the sum of their hashes. */
async function readContents(client: pg.Client, { name, columns }: Table) {
  const { rows } = await client.query<{ rows: string; sum: string | null }>(`
    select count(*) as rows,
      sum(('x' || left(encode(sha256(convert_to(row(${columns.join(', ')})::text, 'UTF8')), 'hex'), 16))::bit(64)::bigint)::text as sum
    from ${name}`);
  return { rows: Number(rows[0]!.rows), sum: rows[0]!.sum ?? '' };
}

async function findFilled(client: pg.Client, tables: readonly Table[]): Promise<string[]> {
  const filled: string[] = [];
  for (const { name } of tables) {
    if (filledByMigrations.includes(name)) continue;
    const { rowCount } = await client.query(`select from ${name} limit 1`);
    if (rowCount) filled.push(name);
  }
  return filled;
}

async function readIdentity(client: pg.Client): Promise<string> {
  return (await client.query<{ id: string }>('select id from database_identity')).rows[0]!.id;
}
