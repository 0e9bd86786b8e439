import { type Log, throttled } from '../common/log.ts';
import { pause } from '../common/pause.ts';
import type { Family } from '../families/index.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import type { Db } from '../store/tables.ts';
import { familiesInFeed } from './families.ts';
import { FeedClosed, numberChanges, openFeed } from './open-feed.ts';
import type { Page, PageDependencies, PageQuery } from './page.ts';
import { readPage } from './read-page.ts';
import { createRecordReader, readColumns } from './read-records.ts';

/** Raised until the feed is open, which takes the database. */
export class FeedUnavailable extends Error {
  override message = 'The changes cannot be read now.';
}

export interface Feed {
  /** Whether it was opened once. */
  isOpen: () => boolean;
  /** @throws CursorInvalid, CursorUnknown, FeedUnavailable, the database's error */
  read: (query: PageQuery) => Promise<Page>;
  stop: () => Promise<void>;
}

/** How often positions are given where nobody reads, so that what has none does not accumulate. */
const numberEveryMs = 1_000;
const noteServedMs = 60 * 60_000;
const retryMs = 1_000;

/** Serves the feed of changes, and gives it positions, while PostgreSQL is available. Any number of processes may. */
export function startFeed(
  db: Db,
  allFamilies: readonly Family[],
  circuit: Pick<Circuit, 'whenClosed' | 'probeAfter'>,
  log: Log,
): Feed {
  const stopping = new AbortController();
  const { signal } = stopping;
  const report = throttled((more, err) => log.warn({ err, ...more }, 'changes got no positions'));
  const families = familiesInFeed(allFamilies);
  let opened: PageDependencies | undefined;

  const open = async () => {
    await openFeed(db);
    const records = opened?.records ?? createRecordReader(await readColumns(db, families));
    await numberChanges(db, true);
    opened = { db, families, records };
  };
  const number = async () => {
    for (const until = performance.now() + noteServedMs; performance.now() < until && !signal.aborted; ) {
      await numberChanges(db);
      await pause(numberEveryMs, signal);
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
        await pause(retryMs, signal);
      }
    }
  })();

  return {
    isOpen: () => opened !== undefined,
    read: async (query) => {
      if (!opened) throw new FeedUnavailable();
      return readPage(opened, query);
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
