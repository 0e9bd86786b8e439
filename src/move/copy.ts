import type pg from 'pg';
import type { Core } from '../feature.ts';
import type { Delivery } from '../receiver/intake/delivery.ts';
import { inTransaction } from '../receiver/store/pools.ts';

/** A callback of a source: of version 2 with all that a delivery has. */
export type StoredCallback = Pick<Delivery, 'id' | 'family' | 'businessId' | 'body' | 'receivedAt'> & {
  version?: string;
  /** How often it was received again, and when for the last time. */
  resends: number;
  lastAt: Date;
};

/** Rows that are copied. */
export interface Copied {
  /** What they are, for people. */
  name: string;
  /** SQL that selects them in the source. */
  from: string;
  /** SQL that inserts those of $1, a list in jsonb, that the target lacks. */
  into: string;
  /** SQL of the first message of each transaction. */
  first?: string;
  /** Rows of a step; default: 1,000. */
  size?: number;
}

/** A database that callbacks are moved from. */
export interface Source {
  /** SQL that selects a StoredCallback, in the order of ids. */
  callbacks: string;
  /** What decides how callbacks are stored, and what comes after them. */
  before: Copied[];
  after: Copied[];
  /** SQL for what is left behind: rows with `what`, and `count` where it can be counted. */
  left: string;
}

/** Reads the rows of a query in parts. The next part is read while one is used. */
export async function* readRows<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: string,
  size: number,
): AsyncGenerator<Row[]> {
  await client.query(`declare moved no scroll cursor for ${query}`);
  const fetch = () => {
    const part = client.query<Row>(`fetch ${size} from moved`);
    // Its error is raised with the next part, which may not be asked for.
    part.catch(() => {});
    return part;
  };
  for (let next = fetch(); ; ) {
    const { rows } = await next;
    if (rows.length === 0) break;
    next = fetch();
    yield rows;
  }
  await client.query('close moved');
}

/** Copies rows in steps, each of which is a commit. @returns how many the target lacked */
export async function copyRows({ pool }: Core, client: pg.ClientBase, copied: Copied): Promise<number> {
  const { from, into, first = '', size = 1_000 } = copied;
  let count = 0;
  const query = `select to_jsonb(r)::text as row from (${from}) r`;
  for await (const rows of readRows<{ row: string }>(client, query, size)) {
    const list = `[${rows.map(({ row }) => row).join(',')}]`;
    count += (await inTransaction(pool, first, (target) => target.query(into, [list]))).rowCount ?? 0;
  }
  return count;
}

/** SQL that inserts rows of a table unless they are there. */
export const insertInto = (table: string): string =>
  `insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1::jsonb) on conflict do nothing`;

/** SQL that adds to the gate, of rows with `hash`, `until` and `erasure`. */
export const insertErased = (hash: string): string => `
select from jsonb_to_recordset($1::jsonb) as r(hash text, until timestamptz, erasure uuid)
where receiver.gate(${hash}, until, erasure)`;

/** SQL that adds entries of the access log, with numbers of the target's own. @param hashes of `subjects` */
export const insertAccess = (hashes: string): string => `
insert into public.access_log (at, actor, actor_name, address, action, subjects, filter, rows)
select at, actor, actor_name, address, action, ${hashes}, filter, rows
from jsonb_to_recordset($1::jsonb) as r(entry bigint, at timestamptz, actor text, actor_name text, address text, action text,
  subjects text[], filter jsonb, rows int)
where not exists (select from public.access_log l where (l.at, l.actor, l.action) = (r.at, r.actor, r.action))
order by entry`;
