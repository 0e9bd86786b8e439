import type { Family } from '../families/index.ts';
import { allOfIt } from './cursor.ts';
import { inSnapshot } from './in-snapshot.ts';
import { numberChanges } from './open-feed.ts';
import type { Change, PageDependencies } from './page.ts';
import { toChange } from './read-page.ts';
import type { CurrentRecord, RecordKey } from './read-records.ts';

/** A record that is read once more, and what its last change was. */
export interface ChangedRecord {
  family: Family;
  key: RecordKey;
  kind: Change['kind'];
  /** The position of a change that it contains. */
  version: number;
}

export interface ReadAgain {
  /** In the order of the records; undefined: it is gone, and its last change did not say so. A later one does. */
  changes: (Change | undefined)[];
  records: number;
  patients: string[];
}

/**
 * Reads records as they are now, as the change of the position that is given.
 *
 * @throws FeedClosed
 */
export async function readAgain(
  { db, secret, records }: PageDependencies,
  wanted: readonly ChangedRecord[],
  isPublic: boolean,
): Promise<ReadAgain> {
  const seen = await numberChanges(db);
  const nameOf = ({ name }: Family, { business_id, id }: RecordKey) =>
    JSON.stringify([name, business_id, id]);
  const currents = new Map<string, CurrentRecord>();
  await inSnapshot(db, async (tx) => {
    for (const family of new Set(wanted.map((one) => one.family))) {
      const keys = wanted.filter((one) => one.family === family).map(({ key }) => key);
      const found = await records.readByKeys(tx, family, keys, isPublic);
      for (const current of found) currents.set(nameOf(family, current), current);
    }
  });
  const found = [...currents.values()];
  return {
    changes: wanted.map(({ family, key, kind, version }) => {
      const current = currents.get(nameOf(family, key));
      if (!current && kind === 'changed') return undefined;
      const at = { position: version, read: allOfIt };
      const changedAt = current?.changed_at ?? null;
      return toChange({ at, kind, family, key, changedAt, current }, seen, secret);
    }),
    records: found.filter(({ record }) => record !== null).length,
    patients: [...new Set(found.flatMap(({ patient_id }) => patient_id || []))],
  };
}
