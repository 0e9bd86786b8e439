import type { Family } from '../families/index.ts';
import type { ChangeKind } from '../store/changed-records.ts';
import type { Db } from '../store/tables.ts';
import { allOfIt, type InFeed, type InTables } from './cursor.ts';
import type { PageDependencies, PageQuery } from './page.ts';
import { type Entry, readEntries } from './read-entries.ts';
import type { CurrentRecord } from './read-records.ts';

/** A record that a page contains. */
export interface Found {
  at: InFeed | InTables;
  kind: ChangeKind;
  family: Family;
  key: { business_id: string; id: string };
  changedAt: Date | null;
  /** Undefined: it is gone. */
  current: CurrentRecord | undefined;
}

export interface Reading {
  found: Found[];
  next: InFeed | InTables;
  more: boolean;
}

/** The records of the tables, by family in the order of their keys. */
export async function readTables(
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
export async function readFeed(
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
