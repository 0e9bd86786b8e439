import type { RecordKey } from '../../callbacks/delivery.ts';

interface SlowRecord extends RecordKey {
  pauseMs: number;
  /** By `performance.now()`. */
  dueAt: number;
}

/** The pause of a slow record, in durations of its merge: others wait while it is merged. */
const pauseFactor = 10;
const maxPauseMs = 60_000;

const keyOf = ({ family, businessId, recordId }: RecordKey) => JSON.stringify([family, businessId, recordId]);

/** Records that are merged alone, after pauses. */
export class SlowRecords {
  readonly #records = new Map<string, SlowRecord>();
  readonly #slowMs: number;

  constructor(slowMs: number) {
    this.#slowMs = slowMs;
  }

  of(name: string): SlowRecord[] {
    return [...this.#records.values()].filter(({ family }) => family === name);
  }

  /** The next one of a family whose pause is over, which begins again: one that fails keeps none of the others out. */
  takeDue(family: string): SlowRecord | undefined {
    const due = this.of(family).find(({ dueAt }) => dueAt <= performance.now());
    if (due) this.#put(due, due.pauseMs);
    return due;
  }

  /** Adds or removes a record. @param ms how long a merge took in which others waited for it */
  noteTime(record: RecordKey, ms: number): void {
    const lastMs = this.#records.get(keyOf(record))?.pauseMs ?? 0;
    if (ms <= this.#slowMs) this.#records.delete(keyOf(record));
    else this.#put(record, Math.min(Math.max(pauseFactor * ms, 2 * lastMs), maxPauseMs));
  }

  #put({ family, businessId, recordId }: RecordKey, pauseMs: number): void {
    const record = { family, businessId, recordId, pauseMs, dueAt: performance.now() + pauseMs };
    this.#records.delete(keyOf(record));
    this.#records.set(keyOf(record), record);
  }
}
