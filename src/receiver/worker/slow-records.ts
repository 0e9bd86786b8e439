import type { RecordKey } from '../../callbacks/delivery.ts';

/** A record whose merges take long; `dueAt` by `performance.now()`. */
export interface SlowRecord extends RecordKey {
  pauseMs: number;
  dueAt: number;
}

/** The pause of a slow record, in durations of its merge: others wait while it is merged. */
const pauseFactor = 10;
const maxPauseMs = 60_000;

/** Records that are merged alone, after pauses. */
export interface SlowRecords {
  /** Those of a family; the one that was tried last is the last. */
  of: (family: string) => SlowRecord[];
  /** The next one of a family whose pause is over, which begins again: one that fails keeps none of the others out. */
  takeDue: (family: string) => SlowRecord | undefined;
  /** Adds or removes a record. @param ms how long a merge took in which others waited for it */
  noteTime: (record: RecordKey, ms: number) => void;
}

/** @param slowMs how long a merge may take */
export function createSlowRecords(slowMs: number): SlowRecords {
  const records = new Map<string, SlowRecord>();
  const keyOf = ({ family, businessId, recordId }: RecordKey) =>
    JSON.stringify([family, businessId, recordId]);
  const put = (record: RecordKey, pauseMs: number) => {
    const { family, businessId, recordId } = record;
    records.delete(keyOf(record));
    const dueAt = performance.now() + pauseMs;
    records.set(keyOf(record), { family, businessId, recordId, pauseMs, dueAt });
  };
  const of = (name: string) => [...records.values()].filter(({ family }) => family === name);
  return {
    of,
    takeDue: (family) => {
      const due = of(family).find(({ dueAt }) => dueAt <= performance.now());
      if (due) put(due, due.pauseMs);
      return due;
    },
    noteTime: (record, ms) => {
      const lastMs = records.get(keyOf(record))?.pauseMs ?? 0;
      if (ms <= slowMs) records.delete(keyOf(record));
      else put(record, Math.min(Math.max(pauseFactor * ms, 2 * lastMs), maxPauseMs));
    },
  };
}
