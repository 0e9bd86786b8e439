import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type Family, hasPersonalKey } from '../families/index.ts';
import type { ChangeKind } from '../store/changed-records.ts';
import type { Db } from '../store/tables.ts';
import {
  allOfIt,
  type Cursor,
  type InFeed,
  type InTables,
  openCursor,
  type Seen,
  sealCursor,
} from './cursor.ts';
import { inSnapshot } from './in-snapshot.ts';
import { numberChanges } from './open-feed.ts';
import { type Entry, readEntries } from './read-entries.ts';
import type { CurrentRecord, RecordKey, RecordReader } from './read-records.ts';

/** Raised where the feed does not know what follows a cursor: a backup was restored, or it is too old. */
export class CursorUnknown extends Error {
  override message =
    'What follows this cursor is not known: a backup was restored, or the cursor is too old. Read from the beginning, without after.';
}

export interface PageQuery {
  /** A cursor; undefined: from the beginning. */
  after: string | undefined;
  families: readonly Family[];
  businessId: string | undefined;
  /** The most changes of the page. */
  limit: number;
  /** Without the columns that are personal. */
  isPublic: boolean;
}

export interface Change {
  cursor: string;
  /** The change as JSON. */
  json: string;
  family: string;
  /** The key of its row; unlike the id in the JSON it may identify a patient. */
  key: RecordKey;
  publicId: string;
  kind: ChangeKind;
  event: string | null;
  version: number;
  changedAt: Date | null;
}

export interface Page {
  changes: Change[];
  /** The cursor after the page. */
  next: string;
  /** Whether something may follow now. */
  more: boolean;
  /** The last position when it was read. */
  head: number;
  /** How many records it contains, and the patients whom they name. */
  records: number;
  patients: string[];
}

interface Found {
  at: InFeed | InTables;
  kind: ChangeKind;
  family: Family;
  key: { business_id: string; id: string };
  changedAt: Date | null;
  /** Undefined: it is gone. */
  current: CurrentRecord | undefined;
}

interface Reading {
  found: Found[];
  next: InFeed | InTables;
  more: boolean;
}

export interface PageDependencies {
  db: Db;
  secret: Buffer;
  /** All families. */
  families: readonly Family[];
  records: RecordReader;
}

/**
 * Reads a page of changes. Its records are as they are now; what was committed before it was read has a position by the end,
 * and every cursor of the page names the last one: whoever finds that position again has all that the reader has seen.
 *
 * @throws CursorUnknown, FeedClosed
 */
export async function readPage(dependencies: PageDependencies, query: PageQuery): Promise<Page> {
  const { db, secret } = dependencies;
  const cursor = query.after === undefined ? undefined : openCursor(query.after, secret);
  if (query.after !== undefined && !cursor) throw new CursorUnknown();
  await numberChanges(db);
  const { found, next, more } = await inSnapshot(db, async (tx) => {
    const head = await requireKnown(tx, cursor);
    const at = cursor?.at ?? {
      position: head,
      family: dependencies.families[0]!.name,
      businessId: '',
      id: '',
    };
    return 'family' in at
      ? readTables(tx, dependencies, query, at, head)
      : readFeed(tx, dependencies, query, at, head);
  });
  const seen = await numberChanges(db);
  const currents = found.flatMap(({ current }) => current ?? []);
  return {
    changes: found.map((one) => toChange(one, seen, secret)),
    next: sealCursor({ at: next, seen }, secret),
    more: more || next.position < seen.position,
    head: seen.position,
    records: currents.filter(({ record }) => record !== null).length,
    patients: [...new Set(currents.flatMap(({ patient_id }) => patient_id || []))],
  };
}

/** @returns the last position @throws CursorUnknown where something is missing that the reader has seen, or has not read yet */
async function requireKnown(tx: Db, cursor: Cursor | undefined): Promise<number> {
  const { rows } = await sql<{ head: string | null; oldest: string | null; is_seen: boolean }>`
    select max(position) as head, min(position) as oldest, exists (
      select from changes where position = ${cursor?.seen.position ?? 0} and tag = ${cursor?.seen.tag ?? null}::uuid
    ) as is_seen from changes`.execute(tx);
  const { head, oldest, is_seen } = rows[0]!;
  if (head === null || (cursor && (!is_seen || cursor.at.position < Number(oldest))))
    throw new CursorUnknown();
  return Number(head);
}

/** The records of the tables, by family in the order of their keys. */
async function readTables(
  tx: Db,
  { families, records }: PageDependencies,
  { families: wanted, businessId, limit, isPublic }: PageQuery,
  from: InTables,
  head: number,
): Promise<Reading> {
  const { position } = from;
  const found: Found[] = [];
  const start = families.findIndex(({ name }) => name === from.family);
  for (const family of families.slice(start).filter((one) => wanted.includes(one))) {
    const isContinued = family.name === from.family && from.id !== '';
    const after = isContinued ? { business_id: from.businessId, id: from.id } : undefined;
    const most = limit - found.length;
    const rows = await records.readAfter(tx, family, after, { limit: most, businessId, isPublic });
    const atOf = (row: CurrentRecord): InTables => ({
      ...{ position, family: family.name, businessId: row.business_id, id: row.id },
    });
    for (const current of rows) {
      if (businessId !== undefined && current.business_id !== businessId) continue;
      found.push({
        at: atOf(current),
        kind: 'changed',
        family,
        key: current,
        changedAt: current.changed_at,
        current,
      });
    }
    if (rows.length === most) return { found, next: atOf(rows.at(-1)!), more: true };
  }
  return { found, next: { position, read: allOfIt }, more: head > position };
}

/** What follows a position: each record once, as it is now. */
async function readFeed(
  tx: Db,
  { families, records }: PageDependencies,
  query: PageQuery,
  from: InFeed,
  head: number,
): Promise<Reading> {
  const { entries, next } = await readEntries(tx, query, from, head);
  const newest = new Map<string, Entry>();
  for (const entry of entries) {
    const key = keyOfEntry(entry);
    const kind = entry.kind === 'changed' ? (newest.get(key)?.kind ?? 'changed') : entry.kind;
    newest.delete(key);
    newest.set(key, { ...entry, kind });
  }
  const currents = new Map<string, CurrentRecord>();
  for (const family of families) {
    const own = [...newest.values()].filter((entry) => entry.family === family.name);
    if (own.length === 0) continue;
    for (const current of await records.readByKeys(tx, family, own, query.isPublic))
      currents.set(keyOfEntry({ family: family.name, ...current }), current);
  }
  const found = Array.from(newest, ([key, { position, n, kind, changed_at, ...entry }]) => ({
    at: { position, read: n },
    kind,
    family: families.find(({ name }) => name === entry.family)!,
    key: entry,
    changedAt: changed_at,
    current: currents.get(key),
  }));
  return {
    // One that is gone has another entry, which says why.
    found: found.filter(({ kind, current }) => current || kind !== 'changed'),
    next,
    more: next.read < allOfIt || next.position < head,
  };
}

const keyOfEntry = ({ family, business_id, id }: Pick<Entry, 'family' | 'business_id' | 'id'>) =>
  JSON.stringify([family, business_id, id]);

export function toChange(
  { at, kind, family, key, changedAt, current }: Found,
  seen: Seen,
  secret: Buffer,
): Change {
  const cursor = sealCursor({ at, seen }, secret);
  const id = current && hasPersonalKey(family) ? pseudonym(key, secret) : key.id;
  const shownKind = current ? (current.is_deleted ? 'deleted' : 'changed') : kind;
  const event = current?.event ?? null;
  const version = at.position;
  const change = {
    cursor,
    family: family.name,
    business_id: key.business_id,
    id,
    kind: shownKind,
    event,
    version,
    changed_at: changedAt,
  };
  const json = `${JSON.stringify(change).slice(0, -1)},"record":${current?.record ?? 'null'}}`;
  return { cursor, json, family: family.name, key, publicId: id, kind: shownKind, event, version, changedAt };
}

/** As the function pseudonym_of_change makes it. */
const pseudonym = ({ business_id, id }: { business_id: string; id: string }, secret: Buffer) =>
  createHash('sha256').update(secret).update(`${business_id}\u0001${id}`).digest('hex').slice(0, 32);
