import { randomBytes } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { csvWriter } from '../common/csv.ts';
import { dayMs } from '../common/days.ts';
import { printRows } from '../common/terminal.ts';
import type { Core } from '../receiver/feature.ts';
import { commandActor, logAccess } from '../receiver/store/log-access.ts';

// Every value as PostgreSQL's text.
const asText = { getTypeParser: () => (value: unknown) => value };

const isSuperuser = 'select from pg_roles where rolname = session_user and rolsuper';
const noLogin =
  'Set DATABASE_URL, or REPORT_DATABASE_URL, to a login that is no superuser: another one for the statement could not be made';

/** With the first clause of their comments. */
const views = `
  select oid::regclass as view, substring(obj_description(oid, 'pg_class') from '^.*?(?=[.;:] |$)') as about from pg_class
  where relnamespace::regnamespace::text in ('public', 'reporting') and relkind = 'v' and has_table_privilege(oid, 'select')
  order by relnamespace::regnamespace::text, relname`;

/**
 * Runs one statement in a read-only transaction, and prints its rows behind an entry of the access log. Without a statement it
 * lists the views that can be read.
 */
export async function printQuery(
  core: Core,
  text = views,
  { json = false, csv = false }: { json?: boolean; csv?: boolean },
): Promise<void> {
  const { drop, ...login } = await readingLogin(core);
  const client = new pg.Client({ ...login, application_name: 'receiver sql' });
  client.on('error', () => {}); // of the query
  try {
    await client.connect();
    await client.query('begin read only');
    // After the first query, `set transaction read write` is an error.
    if ((await client.query(isSuperuser)).rows.length > 0) throw new Error(noLogin);
    // The extended protocol accepts one statement only. Arrays: columns may have the same name.
    const query = { text, types: asText, queryMode: 'extended', rowMode: 'array' } as pg.QueryArrayConfig;
    const { rows, fields } = await client.query<(string | null)[]>(query);
    // Without the statement, which may contain personal data.
    await logAccess(core, { actor: commandActor(), action: 'sql', rows: rows.length });
    const names = fields.map(({ name }) => name);
    if (csv) await pipeline(rows, csvWriter(names), process.stdout, { end: false });
    else printRows(names, rows, json);
  } catch (error) {
    // The database's message may contain values.
    if (!(error instanceof pg.DatabaseError)) throw error;
    await logAccess(core, { actor: commandActor(), action: 'sql' });
    throw new Error(error.message);
  } finally {
    await client.end().catch(() => {});
    await drop();
  }
}

const prefix = 'receiver_sql_';

/**
 * A login that can only read. A superuser, such as that of the embedded database, may run programs and read files, and takes
 * that right back from any `set role`: a login is made for the statement.
 */
async function readingLogin({
  pool,
  reports,
}: Core): Promise<pg.ClientConfig & { drop: () => Promise<unknown> }> {
  const { connectionString } = reports.options;
  const isStandby = reports !== pool; // which cannot make one
  if (isStandby || (await pool.query(isSuperuser)).rows.length === 0)
    return { connectionString, drop: async () => {} };
  // Logins of commands that were killed.
  const expired = `select rolname from pg_roles where rolname like '${prefix}%' and rolvaliduntil < now()`;
  for (const { rolname } of (await pool.query<{ rolname: string }>(expired)).rows)
    await pool.query(`drop role if exists ${pg.escapeIdentifier(rolname)}`);
  const [user, password] = [prefix + randomBytes(8).toString('hex'), randomBytes(24).toString('hex')];
  const until = new Date(Date.now() + dayMs).toISOString();
  await pool.query(`create role ${user} login password '${password}' valid until '${until}' in role pg_read_all_data;
    alter role ${user} set default_transaction_read_only = on`);
  const { host, port, database, ssl } = new pg.Client({ connectionString });
  const drop = () => pool.query(`drop role if exists ${user}`);
  return { host, port, database, ssl, user, password, drop };
}
