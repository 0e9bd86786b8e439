import { logReading, type Reading } from '../changes/log-reading.ts';
import type { Change } from '../changes/page.ts';
import type { Feed } from '../changes/start-feed.ts';
import type { Family } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import type { Destination } from './destination-table.ts';
import type { RecordName, WaitingRecord } from './waiting-table.ts';

/** A change that is sent. */
export interface SourceChange extends RecordName, Pick<Change, 'kind' | 'event' | 'version' | 'changedAt'> {
  /** As it is shown: the record's id may identify a patient. */
  publicId: string;
  json: string;
}

export const keyOf = ({ family, businessId, recordId }: RecordName) =>
  JSON.stringify([family, businessId, recordId]);

export type Source = ReturnType<typeof createSource>;

/**
 * The changes of a destination. A read of personal columns is an entry of the access log, with the destination's id, before
 * anything of it is sent.
 */
export function createSource(
  db: Db,
  feed: Pick<Feed, 'read' | 'readAgain' | 'whenAfter'>,
  all: readonly Family[],
  { id, families: names, businessId, isPublic }: Destination,
) {
  const families = all.filter(({ name }) => names.includes(name));
  const note = async (reading: Reading) => {
    const filter = { families: names, businessId: businessId ?? undefined };
    if (!isPublic) await logReading(db, reading, { id: 'destination', name: id }, filter);
  };
  return {
    /** Reads what follows a cursor; null: from the beginning. */
    read: async (cursor: string | null, limit: number) => {
      const selection = { families, businessId: businessId ?? undefined, isPublic };
      const page = await feed.read({ ...selection, after: cursor ?? undefined, limit });
      await note(page);
      return { ...page, changes: page.changes.map(toSourceChange) };
    },
    /** Reads records as they are now; undefined: it is gone, and a later change says so. */
    readAgain: async (records: readonly Omit<WaitingRecord, 'attempts'>[]) => {
      const wanted = records.map(({ family, businessId: business_id, recordId, kind, version }) => ({
        family: families.find(({ name }) => name === family)!,
        key: { business_id, id: recordId },
        ...{ kind, version },
      }));
      const again = await feed.readAgain(wanted, isPublic);
      await note(again);
      return again.changes.map((change) => change && toSourceChange(change));
    },
    whenAfter: feed.whenAfter,
  };
}

const toSourceChange = ({ key, family, ...change }: Change): SourceChange => ({
  ...change,
  family,
  businessId: key.business_id,
  recordId: key.id,
});
