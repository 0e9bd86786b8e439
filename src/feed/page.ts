import { type Selectable, sql } from 'kysely';
import type { Core } from '../feature.ts';
import { type Family, hasPersonalKey } from '../receiver/families/family.ts';
import { subjectsOf } from '../receiver/families/subjects.ts';
import { withDecimals } from '../receiver/intake/decimal.ts';
import { columnsOf, quoted, tableOf } from '../receiver/store/columns.ts';
import type { Db, Tables } from '../receiver/store/tables.ts';
import { isRowOf } from '../receiver/worker/merge-statement.ts';

type Values = Record<string, unknown>;
/** Who reads, for the access log. */
type Actor = { id: string; name: string; address?: string };
type Access = { actor: Actor; action: string; subjects: string[]; filter: Values; ids: Ids; rows: number };
type Ids = { business_id: string | null };

/** What the feed works with. */
export interface FeedCore extends Core {
  /** Adds an entry to the access log. Where it throws, nothing is given to anybody. */
  logAccess: (core: Core, access: Access) => Promise<void>;
}

/** What somebody reads of the feed. */
export interface Selection {
  families: string[];
  /** null: all. */
  business_id: string | null;
  /** Without the columns that are personal. */
  is_public: boolean;
}

/** A change, and as it is sent. */
export type Change = Selectable<Tables['receiver.changes']> & { cursor: string; json: string };

/** So many positions are looked at for a page, so that one without changes is read at once, too. */
const maxScanned = 50_000;

/** The families of the feed: those whose records' ids cannot identify a patient. Changes of others are not recorded. */
export const familiesInFeed = (families: readonly Family[]): string[] =>
  families.filter((family) => !hasPersonalKey(family)).map(({ name }) => name);

export const cursorOf = (epoch: string, position: number): string => `${epoch}.${position}`;

/** The epoch of the feed, and the position of the last change; 0 where there is none. */
export async function readHead(db: Db): Promise<{ epoch: string; head: number }> {
  const { rows } = await sql<{ epoch: string; head: string }>`
    select value as epoch, coalesce((select max(position) from receiver.changes), 0) as head
    from receiver.settings where name = 'feed_epoch'`.execute(db);
  return { epoch: rows[0]!.epoch, head: Number(rows[0]!.head) };
}

/**
 * Reads the changes after a position, in the order of their commits, with their records as they are now; rows with personal
 * columns after an entry of the access log. Merges take positions under their lock, so whoever sees a position sees all
 * before it, and a later statement sees at least as much.
 *
 * @returns the changes, the position after them, and whether something may follow now
 * @throws the error of the database, or of the access log
 */
export async function readPage(
  core: FeedCore,
  selection: Selection,
  actor: Actor,
  { epoch, head, after, limit }: { epoch: string; head: number; after: number; limit: number },
): Promise<{ changes: Change[]; next: number; more: boolean }> {
  const { families, business_id, is_public: isPublic } = selection;
  const end = Math.min(after + maxScanned, head);
  const found = await core.db
    .selectFrom('receiver.changes')
    .selectAll()
    .where('position', '>', String(after))
    .where('position', '<=', String(end))
    .where('family', 'in', families)
    .$if(business_id !== null, (all) => all.where('business_id', '=', business_id!))
    .orderBy('position')
    .limit(limit)
    .execute();

  const records = new Map<string, string>();
  const subjects: string[] = [];
  for (const family of core.families) {
    const own = found.filter((change) => change.family === family.name);
    if (own.length === 0) continue;
    const keys = [own.map((change) => change.business_id), own.map(({ record_id }) => record_id)];
    const { rows } = await core.pool.query<{ n: number; record: string }>(selectRows(family, isPublic), keys);
    for (const { n, record } of rows) {
      const change = own[n - 1]!;
      records.set(change.position, record);
      const data = withDecimals(record, JSON.parse(record)) as Values;
      subjects.push(
        ...subjectsOf({ data }, family, change.business_id).filter((one) => one.startsWith('p:')),
      );
    }
  }
  if (!isPublic && records.size > 0) {
    const about = { subjects: [...new Set(subjects)], filter: { families }, ids: { business_id } };
    await core.logAccess(core, { actor, action: 'changes', ...about, rows: records.size });
  }
  const changes = found.map((change): Change => {
    const { family, business_id, record_id: id, kind, at: changed_at } = change;
    const version = Number(change.position);
    const cursor = cursorOf(epoch, version);
    const about = JSON.stringify({ cursor, family, business_id, id, kind, version, changed_at });
    const record = records.get(change.position) ?? 'null';
    return { ...change, cursor, json: `${about.slice(0, -1)},"record":${record}}` };
  });
  const next = found.length === limit ? Number(found.at(-1)!.position) : end;
  return { changes, next, more: next < head };
}

/** SQL for the rows of records as JSON, as PostgreSQL writes it: numbers keep all digits. $1 businesses, $2 ids */
function selectRows(family: Family, isPublic: boolean): string {
  const isShown = (name: string) => {
    const field = family.fields[name];
    return !isPublic || (field ? field.personal === false : name !== 'extra');
  };
  const columns = Object.keys(columnsOf(family)).filter(isShown);
  return `
    select k.n::int, (select row_to_json(r)::text from (select ${columns.map((name) => `t.${quoted(name)}`)}) r) as record
    from unnest($1::text[], $2::text[]) with ordinality as k(business_id, record_id, n)
    join ${tableOf(family)} t on ${isRowOf(family)}`;
}

/**
 * Deletes changes that are older than 30 days, unless they are the newest of their record: whoever reads from the beginning
 * gets each record. In steps, until the signal is aborted.
 */
export async function trimChanges({ db }: Core, signal: AbortSignal): Promise<void> {
  for (let last: string | null = '0'; last !== null && !signal.aborted; ) {
    const step: { rows: { last: string | null }[] } = await sql<{ last: string | null }>`
      with old as materialized (
        select * from (select * from receiver.changes where position > ${last} order by position limit 5000) step
        where at < now() - interval '30 days'
      ), deleted as (
        delete from receiver.changes where position = any(array(select position from old where exists (
          select from receiver.changes c
          where (c.business_id, c.family, c.record_id) = (old.business_id, old.family, old.record_id) and c.position > old.position
        )))
      )
      select max(position) as last from old`.execute(db);
    ({ last } = step.rows[0]!);
  }
}
