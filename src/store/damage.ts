import type pg from 'pg';

/** A page that PostgreSQL cannot read. */
export interface Place {
  /** The table or index, qualified where it is outside of the search path. */
  relation: string;
  /** The table whose rows it holds, or indexes. */
  table: string;
  isIndex: boolean;
  /** Undefined: PostgreSQL does not say. */
  block?: number | undefined;
}

const path = /(?:base|pg_tblspc\/(\d+)\/[^/"\s]+)\/\d+\/(?:t\d+_)?(\d+)[\w.]*/;
const name = /["«„“「]([^"»“”」]+)["»“”」]/;

const byFile = `
select oid as relation from (select pg_filenode_relation($1::oid, $2::oid)::oid as oid) found`;
const byName = `
select coalesce(to_regclass(quote_ident($1)), (select min(oid) from pg_class where relname = $1 and relkind in ('i', 'r')))::oid
  as relation`;
const named = (found: string) => `
select c.oid::regclass::text as relation, c.relkind = 'i' as "isIndex", coalesce(
    (select indrelid from pg_index where indexrelid = c.oid),
    (select oid from pg_class where reltoastrelid = c.oid and c.relkind = 't'), c.oid)::regclass::text as "table"
from (${found}) found join pg_class c on c.oid = found.relation`;

/**
 * The page that an error with `isDamaged` is about. The message is read whatever its language is: it has the file or the
 * name of the index, and the number of the block.
 *
 * @returns undefined where the message does not say
 */
export async function findPlace(pool: pg.Pool, error: unknown): Promise<Place | undefined> {
  const { message } = error as Error;
  const file = path.exec(message);
  const index = file ? undefined : name.exec(message);
  if (!file && !index) return undefined;
  const rest = message.replace((file ?? index)![0], '');
  const block = /\d+/.exec(rest)?.[0];
  const query = file
    ? { text: named(byFile), values: [file[1] ?? '0', file[2]] }
    : { text: named(byName), values: [index![1]] };
  const { rows } = await pool.query<Omit<Place, 'block'>>({ ...query, query_timeout: 1_000 });
  return rows[0] && { ...rows[0], block: block === undefined ? undefined : Number(block) };
}

/** A page in words. */
export const describePlace = ({ relation, isIndex, block }: Place) =>
  `${block === undefined ? 'A page' : `Page ${block}`} of ${isIndex ? 'index' : 'table'} ${relation} is damaged`;

/** Tables whose rows are made again from others. */
const madeAgain = ['pending_deliveries', 'applied_deliveries', 'failed_deliveries'];

/** What to do about a damaged page, and what becomes of its rows. */
export function adviceOn({ relation, table, isIndex }: Place): string {
  if (isIndex) return `Run: reindex index ${relation}. Nothing else is needed`;
  const zero = `set zero_damaged_pages = on; vacuum full ${table}; reset zero_damaged_pages`;
  const restore = `Restore ${table} from a replica or a backup`;
  if (table === 'inbox') {
    return `${restore}: its rows are nowhere else. Without one, as a superuser: ${zero}. The callbacks on the page are then lost`;
  }
  if (madeAgain.includes(table)) {
    return `${restore}; or, as a superuser: ${zero}. What has lost its state is then queued again by itself`;
  }
  if (table === 'blocked_deliveries')
    return 'Run: truncate blocked_deliveries. What it held is found again by itself';
  return `${restore}; or, as a superuser: ${zero}. What it held is made again by: receiver replay --status applied`;
}

/**
 * The damaged page that an error is about, and what to do about it, in words.
 *
 * @returns undefined where the error does not say which
 */
export async function describeDamage(pool: pg.Pool, error: unknown): Promise<string | undefined> {
  const place = await findPlace(pool, error).catch(() => undefined);
  return place && `${describePlace(place)}. ${adviceOn(place)}`;
}
