import type { createProgress } from './progress.ts';
import type { Source, SourceChange } from './source.ts';

interface ReadAheadOptions {
  source: Source;
  progress: Pick<ReturnType<typeof createProgress>, 'begin'>;
  /** Between two reads of few changes: a read of personal columns is an entry of the access log. */
  readMs: number;
  signal: AbortSignal;
  /** Gets each change that was read, and what to call once it was accepted or waits. */
  onChange: (change: SourceChange, settle: () => void) => void;
  /** Called after each read, and when there may be more. */
  wake: () => void;
}

const followMs = 5_000;
/** As much is read ahead as was lately sent in this time. */
const aheadMs = 100;
const mostAhead = 500;

/**
 * Reads the next changes of a destination while those before are sent.
 *
 * @param begun the cursor; null: from the beginning
 */
export function createReadAhead(
  begun: string | null,
  { source, progress, readMs, signal, onChange, wake }: ReadAheadOptions,
) {
  let cursor = begun;
  let mayRead = true;
  let isReading = false;
  let readAt = Number.NEGATIVE_INFINITY;
  let sentSince = 0;
  let failure: unknown;

  const read = async (limit: number) => {
    const page = await source.read(cursor, limit);
    cursor = page.next;
    const settle = progress.begin(page.changes.length, page.next);
    for (const change of page.changes) onChange(change, settle);
    mayRead = page.more;
    if (mayRead) return;
    void source.whenAfter(page.head, followMs, signal).then(() => {
      mayRead = true;
      wake();
    });
  };
  return {
    hasMore: () => mayRead,
    /**
     * Begins to read, unless enough waits already.
     *
     * @param state how many changes are sent since the last call, how many wait, and how many more requests there may be
     * @throws the error of the last read
     */
    readOn: ({ sent, left, free }: { sent: number; left: number; free: number }): void => {
      if (failure) throw failure;
      sentSince += sent;
      const pastMs = performance.now() - readAt;
      const ahead = Math.min(mostAhead, Math.ceil((sentSince / pastMs) * aheadMs));
      if (!mayRead || isReading || pastMs < readMs || left >= Math.max(free, ahead / 2)) return;
      [isReading, readAt, sentSince] = [true, performance.now(), 0];
      void read(free + ahead)
        .catch((error) => {
          failure = error;
        })
        .finally(() => {
          isReading = false;
          wake();
        });
    },
  };
}
