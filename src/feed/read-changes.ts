import { type Selectable, sql } from 'kysely';
import { withDecimals } from '../callbacks/decimal.ts';
import { type Family, hasPersonalKey } from '../callbacks/families/family.ts';
import { subjectsOf } from '../callbacks/subjects.ts';
import type { Core } from '../receiver/feature.ts';
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

/** A position, and when its change was made; without: it is not that of a change. */
type Place = { position: string; at?: Date };

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
/** The size of the records of a page, unless it has a single one; and how many are read before their size is known. */
const maxBytes = 4_000_000;
const firstRecords = 20;
const keptDays = 30;

/** The families of the feed: those whose records' ids cannot identify a patient. Changes of others are not recorded. */
export const familiesInFeed = (families: readonly Family[]): string[] =>
  families.filter((family) => !hasPersonalKey(family)).map(({ name }) => name);

/** With the time of the change: a restored database gives its position again, to another one. */
const cursorOf = (epoch: string, { position, at }: Place): string =>
  `${epoch}.${position}${at ? `.${at.getTime().toString(36)}` : ''}`;

/** The epoch of the feed, and the position of the last change; 0 where there is none. */
export async function readHead(db: Db): Promise<{ epoch: string; head: number }> {
  const { rows } = await sql<{ epoch: string; head: string }>`
    select value as epoch, coalesce((select max(position) from receiver.changes), 0) as head
    from receiver.settings where name = 'feed_epoch'`.execute(db);
  return { epoch: rows[0]!.epoch, head: Number(rows[0]!.head) };
}

/** @returns the position of a cursor; undefined: it is not of this history, as after a restore */
export async function findPosition(db: Db, cursor: string, { epoch, head }: { epoch: string; head: number }) {
  const [of, position, stamp] = cursor.split('.') as [string, string, string?];
  if (of !== epoch || Number(position) > head) return undefined;
  const found = db.selectFrom('receiver.changes').selectAll().where('position', '=', position);
  const change = await found.executeTakeFirst();
  const isTrimmed = Number.parseInt(stamp ?? '0', 36) < Date.now() - (keptDays - 1) * 86_400_000;
  const isKnown = change && stamp ? cursorOf(epoch, change) === cursor : isTrimmed;
  return isKnown ? Number(position) : undefined;
}

/**
 * Reads the changes after a position, in the order of their commits, with their records as they are now; rows with personal
 * columns after an entry of the access log. Merges take positions under their lock, so whoever sees a position sees all
 * before it, and a later statement sees at least as much.
 *
 * @returns the changes, the position and the cursor after them, and whether something may follow now
 * @throws the error of the database, or of the access log
 */
export async function readPage(
  core: FeedCore,
  selection: Selection,
  actor: Actor,
  { epoch, head, after, limit }: { epoch: string; head: number; after: number; limit: number },
): Promise<{ changes: Change[]; next: number; cursor: string | undefined; more: boolean }> {
  const { families, business_id, is_public: isPublic } = selection;
  // That of a change, so that the cursor has its time. There may be a wide gap before the first one.
  const { rows: ends } = await sql<Required<Place>>`
    select position, at from receiver.changes
    where position > ${after} and position <= least(${head}::bigint, greatest(${after + maxScanned}::bigint,
      (select min(position) from receiver.changes where position > ${after})))
    order by position desc limit 1`.execute(core.db);
  const end: Place = ends[0] ?? { position: String(after) };
  const found = await core.db
    .selectFrom('receiver.changes')
    .selectAll()
    .where('position', '>', String(after))
    .where('position', '<=', end.position)
    .where('family', 'in', families)
    .$if(business_id !== null, (all) => all.where('business_id', '=', business_id!))
    .orderBy('position')
    .limit(limit)
    .execute();

  const records = new Map<string, string>();
  const subjects: string[] = [];
  let [count, bytes, size] = [0, 0, firstRecords];
  while (count < found.length && bytes < maxBytes) {
    const some = found.slice(count, count + size);
    // The first record is read however large it is.
    const budget = size === 1 && count === 0 ? Number.MAX_SAFE_INTEGER : maxBytes;
    let fitting = some.length;
    for (const name of new Set(some.map(({ family }) => family))) {
      const family = core.families.find((one) => one.name === name);
      if (!family) continue;
      const own = some.filter((change) => change.family === name);
      const values = [own.map((one) => one.business_id), own.map((one) => one.record_id), budget - bytes];
      const text = selectRows(family, isPublic);
      const { rows } = await core.pool.query<{ n: number; record: string | null }>(text, values);
      for (const { n, record } of rows) {
        const { position, business_id: business } = own[n - 1]!;
        if (record === null) {
          fitting = Math.min(fitting, some.indexOf(own[n - 1]!));
          continue;
        }
        records.set(position, record);
        bytes += record.length;
        const data = withDecimals(record, JSON.parse(record)) as Values;
        subjects.push(...subjectsOf({ data }, family, business).filter((one) => one.startsWith('p:')));
      }
    }
    count += fitting;
    if (count > 0 && fitting < some.length) break;
    if (count === 0) [bytes, size] = [0, 1];
    else size = Math.max(2, Math.floor(((maxBytes - bytes) * count) / Math.max(bytes, 1)));
  }
  const page = found.slice(0, count);
  const shown = page.filter(({ position }) => records.has(position)).length;
  if (!isPublic && shown > 0) {
    const about = { subjects: [...new Set(subjects)], filter: { families }, ids: { business_id } };
    await core.logAccess(core, { actor, action: 'changes', ...about, rows: shown });
  }
  const changes = page.map((change): Change => {
    const { family, business_id, record_id: id, kind, at: changed_at } = change;
    const version = Number(change.position);
    const cursor = cursorOf(epoch, change);
    const about = JSON.stringify({ cursor, family, business_id, id, kind, version, changed_at });
    const record = records.get(change.position) ?? 'null';
    return { ...change, cursor, json: `${about.slice(0, -1)},"record":${record}}` };
  });
  const last = count < found.length || count === limit ? page.at(-1)! : end;
  const next = Number(last.position);
  return { changes, next, cursor: last.at && cursorOf(epoch, last), more: next < head };
}

/**
 * SQL for the rows of records as JSON, as PostgreSQL writes it: numbers keep all digits. $1 businesses, $2 ids, $3 bytes; what
 * exceeds them is null
 */
function selectRows(family: Family, isPublic: boolean): string {
  const isShown = (name: string) => {
    const field = family.fields[name];
    return !isPublic || (field ? field.personal === false : name !== 'extra');
  };
  const columns = Object.keys(columnsOf(family)).filter(isShown);
  return `
    select n, case when sum(octet_length(record)) over (order by n) <= $3 then record end as record
    from (
      select k.n::int, (select row_to_json(r)::text from (select ${columns.map((name) => `t.${quoted(name)}`)}) r) as record
      from unnest($1::text[], $2::text[]) with ordinality as k(business_id, record_id, n)
      join ${tableOf(family)} t on ${isRowOf(family)}
    ) r`;
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
        where at < now() - ${keptDays} * interval '1 day'
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
