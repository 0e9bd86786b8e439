import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';
import { type Cursor, cursorText, parseCursor, type Seen } from './cursor.ts';
import { type Found, readFeed, readTables } from './find-changes.ts';
import { inSnapshot } from './in-snapshot.ts';
import { numberChanges } from './open-feed.ts';
import type { Change, Page, PageDependencies, PageQuery } from './page.ts';

/** Raised where the feed does not know what follows a cursor: a backup was restored, or it is too old. */
export class CursorUnknown extends Error {
  override message =
    'What follows this cursor is not known: a backup was restored, or the cursor is too old. Read from the beginning, without after.';
}

/**
 * Reads a page of changes. Its records are as they are now; what was committed before it was read has a position by the end,
 * and every cursor of the page names the last one: whoever finds that position again has all that the reader has seen.
 *
 * @throws CursorInvalid, CursorUnknown, FeedClosed
 */
export async function readPage(dependencies: PageDependencies, query: PageQuery): Promise<Page> {
  const { db } = dependencies;
  const cursor = query.after === undefined ? undefined : parseCursor(query.after);
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
    changes: found.map((one) => toChange(one, seen)),
    next: cursorText({ at: next, seen }),
    more: more || next.position < seen.position,
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

function toChange({ at, kind, family, key, changedAt, current }: Found, seen: Seen): Change {
  const cursor = cursorText({ at, seen });
  const shownKind = current ? (current.is_deleted ? 'deleted' : 'changed') : kind;
  const version = at.position;
  const change = {
    cursor,
    family: family.name,
    business_id: key.business_id,
    id: key.id,
    kind: shownKind,
    version,
    changed_at: changedAt,
  };
  const json = `${JSON.stringify(change).slice(0, -1)},"record":${current?.record ?? 'null'}}`;
  const event = current?.event ?? null;
  return { cursor, json, family: family.name, key, kind: shownKind, event, version, changedAt };
}
