import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { readTrusted } from '../../common/trusted-files.ts';
import { withoutClearPassword } from '../client.ts';
import { withClient } from '../pool.ts';

/** The superuser, for what the server itself needs; the receiver and the commands use the role `receiver`. */
export const administrator = 'receiver_admin';
const reader = 'receiver_reader';

export const adminPasswordFile = (home: string) => join(home, 'admin-password');

/** The address of the administrator, whose password is in the folder of the embedded server, made of that of `receiver`. */
export const adminUrl = (home: string, url: string): string =>
  withUser(url, administrator, (readTrusted(adminPasswordFile(home)) ?? '').trim());

/**
 * The address of a role that can read every table, and change nothing: neither rows nor files, nor run programs. Who knows the
 * password of `receiver` knows that of this role.
 */
export const readerUrl = (url: string): string =>
  withUser(url, reader, readerPassword(decodeURIComponent(new URL(url).password)));

const withUser = (url: string, username: string, password: string) =>
  withoutClearPassword(Object.assign(new URL(url), { username, password }).href);

const readerPassword = (password: string) => createHmac('sha256', password).update(reader).digest('hex');

/**
 * Creates what is missing of the roles and of the database `receiver`. What a version without an administrator has made is handed
 * over to the role `receiver`, which was the superuser there.
 *
 * @param url of the administrator and the database `postgres`
 * @param password of the role `receiver`
 */
export async function provideRoles(url: string, password: string): Promise<void> {
  // A server that is started for a move is read-only by default.
  const settings = { default_transaction_read_only: 'off' };
  const prepare = async (client: pg.Client) => {
    const exists = async (query: string) => ((await client.query(query)).rowCount ?? 0) > 0;
    for (const role of ['receiver', reader])
      if (!(await exists(`select from pg_roles where rolname = '${role}'`)))
        await client.query(`create role ${role}`);
    await client.query(`
      alter role receiver login nosuperuser createrole password ${pg.escapeLiteral(password)};
      alter role ${reader} login password ${pg.escapeLiteral(readerPassword(password))};
      alter role ${reader} set default_transaction_read_only = on;
      grant pg_read_all_stats to receiver;
      grant pg_read_all_data to ${reader}`);
    if (!(await exists(`select from pg_database where datname = 'receiver'`)))
      await client.query('create database receiver owner receiver');
    const { rows } = await client.query<{ owner: string }>(
      `select pg_get_userbyid(datdba) as owner from pg_database where datname = 'receiver'`,
    );
    return rows[0]!.owner;
  };
  if ((await withClient(url, prepare, settings)) !== administrator) return;
  const database = Object.assign(new URL(url), { pathname: '/receiver' }).href;
  await withClient(database, (client) => client.query(handOver), settings);
}

// `reassign owned` refuses what the first superuser owns. Members of extensions stay. A sequence of a column, an array type and
// the type of a row follow their tables. Last the database: that it is handed over says that the rest is.
const handOver = `
do $$
declare
  statement text;
begin
  for statement in
    with owned (kind, class, object) as (
      select 'schema', 'pg_namespace'::regclass, oid from pg_namespace where nspowner = 10
      union all
      select 'table', 'pg_class', c.oid from pg_class c
      where relowner = 10 and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        and not (relkind = 'S' and exists (
          select from pg_depend d
          where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.refobjsubid > 0 and d.deptype in ('a', 'i')))
      union all
      select 'routine', 'pg_proc', oid from pg_proc where proowner = 10
      union all
      select 'type', 'pg_type', t.oid from pg_type t
      where typowner = 10 and typelem = 0 and typtype <> 'm'
        and (typrelid = 0 or exists (select from pg_class c where c.oid = typrelid and relkind = 'c'))
      union all
      select 'statistics', 'pg_statistic_ext', oid from pg_statistic_ext where stxowner = 10
    )
    select format('alter %s %s owner to receiver', kind, identity)
    from owned, pg_identify_object(class, object, 0)
    where object >= 16384
      and not exists (select from pg_depend d where d.classid = class and d.objid = object and d.deptype = 'e')
    union all
    select format('grant %I to receiver with admin true, inherit false, set false', rolname)
    from pg_roles r
    where oid >= 16384 and not rolsuper and rolname not in ('receiver', '${reader}')
      and not exists (select from pg_auth_members m where m.member = r.oid and m.roleid < 16384)
    union all
    select 'alter database receiver owner to receiver'
  loop
    execute statement;
  end loop;
end
$$`;
