import { type Log, throttled } from '../common/log.ts';
import { createPause } from '../common/pause.ts';
import type { Family } from '../families/index.ts';
import type { Circuit } from '../store/circuit.ts';
import type { Db } from '../store/tables.ts';
import { FeedClosed, numberChanges, openFeed } from './open-feed.ts';
import type { Page, PageDependencies, PageQuery } from './page.ts';
import { type ChangedRecord, type ReadAgain, readAgain } from './read-again.ts';
import { readPage } from './read-page.ts';
import { createRecordReader, readColumns } from './read-records.ts';
import { createTurns } from './turns.ts';

/** Raised until the feed is open, which takes the database, and where too many read it. */
export class FeedUnavailable extends Error {
  override message = 'The changes cannot be read now.';
}

export interface Feed {
  /** Whether it was opened once. */
  isOpen: () => boolean;
  /** @throws CursorUnknown, FeedUnavailable, the database's error */
  read: (query: PageQuery) => Promise<Page>;
  /** @throws FeedUnavailable, the database's error */
  readAgain: (records: readonly ChangedRecord[], isPublic: boolean) => Promise<ReadAgain>;
  /** Waits for a position after this one, as long as the signal is not aborted and the feed is not stopped. */
  whenAfter: (position: number, ms: number, signal: AbortSignal) => Promise<void>;
  /** Aborted by `stop`. */
  signal: AbortSignal;
  stop: () => Promise<void>;
}

/** How often positions are given while somebody waits for them, and otherwise, so that what has none does not accumulate. */
const waitedForMs = 50;
const idleMs = 1_000;
const noteServedMs = 60 * 60_000;
const retryMs = 1_000;

/** Pages that are read at the same time, each with a connection that other work of the process needs, and that wait. */
const pagesAtOnce = 2;
const mostWaiting = 100;

/** Serves the feed of changes, and gives it positions, while PostgreSQL is available. Any number of processes may. */
export function startFeed(
  db: Db,
  families: readonly Family[],
  circuit: Pick<Circuit, 'whenClosed' | 'probeAfter'>,
  log: Log,
): Feed {
  const stopping = new AbortController();
  const { signal } = stopping;
  const report = throttled((more, err) => log.warn({ err, ...more }, 'changes got no positions'));
  const takeTurn = createTurns(pagesAtOnce, mostWaiting, () => new FeedUnavailable());
  const waiting = new Set<() => void>();
  let opened: PageDependencies | undefined;
  let head = 0;
  const { pause, wake } = createPause(signal);

  const open = async () => {
    const secret = await openFeed(db);
    const records = opened?.records ?? createRecordReader(await readColumns(db, families));
    await numberChanges(db, true);
    opened = { db, secret, families, records };
  };
  const number = async () => {
    for (const until = performance.now() + noteServedMs; performance.now() < until && !signal.aborted; ) {
      const { position } = await numberChanges(db);
      const isLater = position > head;
      head = position;
      if (isLater) for (const resume of waiting) resume();
      await pause(waiting.size > 0 ? waitedForMs : idleMs);
    }
  };
  const running = (async () => {
    while (!signal.aborted) {
      try {
        await circuit.whenClosed(signal);
        await open();
        await number();
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof FeedClosed) && !(await circuit.probeAfter(error))) report(error);
        await pause(retryMs);
      }
    }
  })();

  return {
    signal,
    isOpen: () => opened !== undefined,
    read: (query) =>
      takeTurn(async () => {
        if (!opened) throw new FeedUnavailable();
        return readPage(opened, query);
      }),
    readAgain: (records, isPublic) =>
      takeTurn(async () => {
        if (!opened) throw new FeedUnavailable();
        return readAgain(opened, records, isPublic);
      }),
    whenAfter: (position, ms, given) =>
      new Promise((resolve) => {
        if (head > position || given.aborted || signal.aborted) return resolve();
        const resume = () => {
          clearTimeout(timer);
          waiting.delete(resume);
          given.removeEventListener('abort', resume);
          resolve();
        };
        const timer = setTimeout(resume, ms);
        given.addEventListener('abort', resume);
        waiting.add(resume);
        if (waiting.size === 1) wake();
      }),
    stop: async () => {
      stopping.abort();
      for (const resume of waiting) resume();
      await running;
    },
  };
}
