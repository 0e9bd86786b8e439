import { sql } from 'kysely';
import type { ChangeKind } from '../store/changed-records.ts';
import type { Db } from '../store/tables.ts';
import { allOfIt, type InFeed } from './cursor.ts';
import type { PageQuery } from './page.ts';

/** A record that has changed. */
export interface Entry {
  position: number;
  /** Its place within the position, from 1. */
  n: number;
  kind: ChangeKind;
  changed_at: Date;
  family: string;
  business_id: string;
  id: string;
}

/** A selection that few changes fit reads as many, and then goes on with the next page. */
const positionsPerPage = 1_000;

/** The entries after a cursor, in their order. */
export async function readEntries(
  tx: Db,
  { families, businessId, limit }: Pick<PageQuery, 'families' | 'businessId' | 'limit'>,
  { position, read }: InFeed,
  head: number,
): Promise<{ entries: Entry[]; next: InFeed }> {
  const until = await lastOfPage(tx, position, head);
  const { rows } = await sql<Entry>`
    select c.position::float8 as position, e.n::float8 as n, c.kind, c.changed_at, e.family, e.business_id, e.id
    from changes c
    cross join lateral unnest(c.families, c.business_ids, c.ids) with ordinality as e (family, business_id, id, n)
    where c.position between ${position} and ${until} and (c.position > ${position} or e.n > ${read})
      and e.family = any(${families.map(({ name }) => name)}::text[])
      ${businessId === undefined ? sql`` : sql`and e.business_id = ${businessId}`}
    order by c.position, e.n limit ${limit}`.execute(tx);
  const last = rows.at(-1);
  const next =
    last && rows.length === limit
      ? { position: last.position, read: last.n }
      : { position: until, read: allOfIt };
  return { entries: rows, next };
}

/** Positions are not without gaps. */
async function lastOfPage(tx: Db, position: number, head: number): Promise<number> {
  const { rows } = await sql<{ position: number }>`
    select position::float8 as position from changes where position > ${position}
    order by position offset ${positionsPerPage - 1} limit 1`.execute(tx);
  return rows[0]?.position ?? head;
}
