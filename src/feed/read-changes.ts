import { type Selectable, sql } from 'kysely';
import { withDecimals } from '../callbacks/exact-json.ts';
import { type Family, hasPersonalKey } from '../callbacks/families/family.ts';
import { subjectsOf } from '../callbacks/subjects.ts';
import { dayMs } from '../common/days.ts';
import type { Core } from '../receiver/feature.ts';
import { checkFamilies } from '../receiver/gate/gate.ts';
import { columnsOf, isRowOf, quoted, tableOf } from '../receiver/store/columns.ts';
import { type Actor, logAccess } from '../receiver/store/log-access.ts';
import { queryPrepared } from '../receiver/store/pools.ts';
import type { Db, Tables } from '../receiver/store/tables.ts';
import type { HandledChange } from './handler.ts';

interface Selection {
  families: string[];
  /** null: all. */
  business_id: string | null;
  /** Without the columns that are personal. */
  is_public: boolean;
}

/** `about`: all but the record; `json`: with the record, as it is sent. */
export type Change = ChangeRow & { about: HandledChange; json: string };
type ChangeRow = Selectable<Tables['receiver.changes']>;

interface FeedHead {
  epoch: string;
  /** The position of the last change; 0: there is none. */
  head: number;
  headAt: Date | null;
}

interface ChangesPage {
  changes: Change[];
  next: number;
  /** Its cursor; undefined: it is that of no change. */
  cursor: string | undefined;
  more: boolean;
}

/** The size of the records of a page, unless it has a single one. */
const maxBytes = 4_000_000;
const keptDays = 30;

/** Families with ids that cannot identify a patient: changes of others are not recorded. */
export const familiesInFeed = (families: readonly Family[]): string[] =>
  families.filter((family) => !hasPersonalKey(family)).map(({ name }) => name);

/** With the time of the change: a restored database gives its position again, to another one. */
const cursorOf = (epoch: string, position: string | number, at: Date): string =>
  `${epoch}.${position}.${at.getTime().toString(36)}`;

export const lastPosition = sql<string | null>`(select max(position) from receiver.changes)`;

export async function readHead(db: Db): Promise<FeedHead> {
  const last = sql<Date | null>`(select at from receiver.changes order by position desc limit 1)`;
  const { epoch, head, headAt } = await db
    .selectFrom('receiver.settings')
    .select(['value as epoch', lastPosition.as('head'), last.as('headAt')])
    .where('name', '=', 'feed_epoch')
    .executeTakeFirstOrThrow();
  return { epoch, head: Number(head ?? 0), headAt };
}

/** @returns the position of a cursor; undefined: it is not of this history, as after a restore */
export async function findPosition(
  db: Db,
  cursor: string,
  { epoch, head }: FeedHead,
): Promise<number | undefined> {
  const [of, position, stamp] = cursor.split('.') as [string, string, string?];
  if (of !== epoch || Number(position) > head) return undefined;
  const change = await db
    .selectFrom('receiver.changes')
    .selectAll()
    .where('position', '=', position)
    .executeTakeFirst();
  const isTrimmed = Number.parseInt(stamp ?? '0', 36) < Date.now() - (keptDays - 1) * dayMs;
  const isKnown = change && stamp ? cursorOf(epoch, position, change.at) === cursor : isTrimmed;
  return isKnown ? Number(position) : undefined;
}

/**
 * Reads the changes after a position, in the order of their commits, with their records as they are now; rows with personal
 * columns after an entry of the access log. Merges take positions under their lock, so a reader that sees a position sees
 * all before it, and a later statement sees at least as much.
 *
 * @throws OtherFamilies: records of a family that is not known would be gone; the error of the database, or of the access log
 */
export async function readPage(
  core: Core,
  selection: Selection,
  actor: Actor,
  { epoch, head, headAt, after, limit }: FeedHead & { after: number; limit: number },
): Promise<ChangesPage> {
  await checkFamilies(core.pool, core.families);
  const { families, business_id, is_public: isPublic } = selection;
  const selected = await core.db
    .selectFrom('receiver.changes')
    .selectAll()
    .where('position', '>', String(after))
    .where('position', '<=', String(head))
    .where('family', 'in', families)
    .$if(business_id !== null, (query) => query.where('business_id', '=', business_id!))
    .orderBy('position')
    .limit(limit)
    .execute();
  const { count, records, subjects } = await readRecords(core, selected, isPublic);
  const page = selected.slice(0, count);
  const rows = page.filter(({ position }) => records.has(position)).length;
  if (!isPublic && rows > 0)
    await logAccess(core, {
      actor,
      action: 'changes',
      subjects: [...subjects],
      filter: { families },
      ids: { business_id },
      rows,
    });
  const changes = page.map((row) => changeOf(row, epoch, records.get(row.position)));
  if (count < selected.length || count === limit) {
    const { cursor, version: next } = changes.at(-1)!.about;
    return { changes, next, cursor, more: next < head };
  }
  const cursor = head > after ? cursorOf(epoch, head, headAt!) : undefined;
  return { changes, next: Math.max(head, after), cursor, more: false };
}

/** @returns `count`: how many changes fit into a page; `records`: by position, as JSON; `subjects`: the patients in them */
async function readRecords({ pool, families }: Core, changes: readonly ChangeRow[], isPublic: boolean) {
  const read = new Map<ChangeRow, string | null>();
  for (const family of families) {
    const own = changes.filter((change) => change.family === family.name);
    if (own.length === 0) continue;
    const values = [own.map((row) => row.business_id), own.map((row) => row.record_id), maxBytes];
    const text = selectRows(family, isPublic);
    const rows = await queryPrepared<{ n: number; record: string | null }>(pool, { text, values });
    for (const { n, record } of rows) read.set(own[n - 1]!, record);
  }
  const records = new Map<string, string>();
  const subjects = new Set<string>();
  let [count, bytes] = [0, 0];
  for (const change of changes) {
    const record = read.get(change);
    bytes += record?.length ?? 0;
    // The first record of a page is sent however large it is.
    if (record === null || (bytes > maxBytes && count > 0)) break;
    count += 1;
    if (record === undefined) continue;
    records.set(change.position, record);
    const family = families.find(({ name }) => name === change.family)!;
    const data = withDecimals(record, JSON.parse(record)) as Record<string, unknown>;
    for (const subject of subjectsOf({ data }, family, change.business_id))
      if (subject.startsWith('p:')) subjects.add(subject);
  }
  return { count, records, subjects };
}

function changeOf(row: ChangeRow, epoch: string, record = 'null'): Change {
  const { position, family, business_id, record_id: id, kind, at: changed_at } = row;
  const cursor = cursorOf(epoch, position, changed_at);
  const about = { cursor, family, business_id, id, kind, version: Number(position), changed_at };
  return { ...row, about, json: `${JSON.stringify(about).slice(0, -1)},"record":${record}}` };
}

/** SQL for rows as JSON, with all digits. $1 businesses, $2 ids, $3 bytes: null beyond them, but for the first. */
function selectRows(family: Family, isPublic: boolean): string {
  const isShown = (name: string) => {
    const field = family.fields[name];
    return !isPublic || (field ? field.personal === false : name !== 'extra');
  };
  const columns = Object.keys(columnsOf(family)).filter(isShown);
  return `
    select n, case when sum(octet_length(record)) over (order by n) <= $3 or n = 1 then record end as record
    from (
      select k.n::int, (select row_to_json(r)::text from (select ${columns.map((name) => `t.${quoted(name)}`)}) r) as record
      from unnest($1::text[], $2::text[]) with ordinality as k(business_id, record_id, n)
      join ${tableOf(family)} t on ${isRowOf(family)}
    ) r`;
}

/** Deletes old changes, but the newest of each record: a reader from the beginning gets every record. */
export async function trimChanges({ db }: Core): Promise<void> {
  await sql`
    with newest as (select max(position) as position from receiver.changes group by business_id, family, record_id)
    delete from receiver.changes c where at < now() - ${keptDays} * interval '1 day'
      and not exists (select from newest where newest.position = c.position)`.execute(db);
}
