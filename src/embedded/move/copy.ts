import type pg from 'pg';
import type { Delivery } from '../../callbacks/delivery.ts';
import type { Core } from '../../receiver/feature.ts';
import { inTransaction } from '../../receiver/store/pools.ts';

/** A source of version 2 adds all that a delivery has. */
export type StoredCallback = Pick<Delivery, 'id' | 'family' | 'businessId' | 'body' | 'receivedAt'> & {
  version?: string;
  storedAt: string;
};

/** SQL that selects rows in the source, and inserts those of $1, a list in jsonb, that the target lacks. */
export interface RowCopy {
  name: string;
  select: string;
  insert: string;
}

export interface Source {
  /** SQL that selects a StoredCallback, in the order of ids. */
  callbacks: string;
  /** These decide how callbacks are stored, and are copied first. */
  rules: RowCopy[];
  others: RowCopy[];
  /** SQL for what cannot be brought: rows with `what`, and `count` where it can be counted. */
  losses: string;
}

const maxRows = 200;

export async function* readRows<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: string,
): AsyncGenerator<Row[]> {
  await client.query(`declare moved no scroll cursor for ${query}`);
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${maxRows} from moved`);
    if (rows.length === 0) break;
    yield rows;
  }
  await client.query('close moved');
}

/** Each step is a commit, which begins with the SQL `first`. @returns how many rows the target lacked */
export async function copyRows(
  { pool }: Core,
  client: pg.ClientBase,
  { select, insert }: RowCopy,
  first: string,
): Promise<number> {
  let count = 0;
  const query = `select to_jsonb(r)::text as row from (${select}) r`;
  for await (const rows of readRows<{ row: string }>(client, query)) {
    const list = `[${rows.map(({ row }) => row).join(',')}]`;
    count += (await inTransaction(pool, first, (target) => target.query(insert, [list]))).rowCount ?? 0;
  }
  return count;
}

export const insertInto = (table: string): string =>
  `insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1::jsonb) on conflict do nothing`;

/** Bodies of people who were erased here are left out. */
export const insertRejected = `
insert into receiver.quarantine select q.* from jsonb_populate_recordset(null::receiver.quarantine, $1::jsonb) q
where not exists (
  select from receiver.erased_of(q.subjects || concat('d:', q.id)) e where e.until >= q.received_at
) on conflict do nothing`;

/** The entries get numbers of the target's own. @param hashes of `subjects` */
export const insertAccess = (hashes: string): string => `
insert into public.access_log (at, actor, actor_name, address, action, subjects, filter, rows)
select at, actor, actor_name, address, action, ${hashes}, filter, rows
from jsonb_to_recordset($1::jsonb) as r(entry bigint, at timestamptz, actor text, actor_name text, address text, action text,
  subjects text[], filter jsonb, rows int)
where not exists (select from public.access_log l where (l.at, l.actor, l.action) = (r.at, r.actor, r.action))
order by entry`;
