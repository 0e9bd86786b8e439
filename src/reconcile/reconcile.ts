import { type Window, windowsOf } from './days.ts';
import { type Counts, compareAndFill, type FillOptions, noCounts } from './fill.ts';
import {
  beginPass,
  endPass,
  findUnlisted,
  noteComplete,
  notePage,
  noteUnknown,
  type Pass,
  readPages,
} from './notes.ts';
import type { ReadPage } from './pages.ts';
import { type Platform, PlatformUnreadable } from './platform.ts';
import { addTo, readUnlisted } from './read-unlisted.ts';
import { readWindow } from './read-window.ts';
import { createReader } from './reader.ts';

export interface ReconcileOptions extends Window, Pick<FillOptions, 'db' | 'intake' | 'business'> {
  platform: Platform;
  /** Compares only: nothing is stored or noted. */
  dryRun?: boolean;
  /** Ends the pass between two pages; the next one continues it. */
  signal?: AbortSignal;
  /** Called with what was compared on each page. */
  onProgress?: (counts: Readonly<Counts>) => void;
  pausesMs?: FillOptions['pausesMs'];
}

export interface Outcomes {
  /** Since the last interruption of the pass. */
  counts: Counts;
  /** Days whose pages shifted all the time: they do not count as compared. */
  unsettled: Window[];
}

/** When the platform was asked for the first of the pages: no appointment of their days was compared earlier. */
const oldest = (pages: readonly ReadPage[]) =>
  new Date(Math.min(...pages.map(({ askedAt }) => askedAt.getTime())));

const defaultPausesMs = [300, 1_000, 5_000];

/**
 * Compares the appointments of some days with those of the platform, window by window and page by page. What is missing or
 * differs comes in as deliveries, through the intake; what the platform does not know is recorded only. It may be interrupted
 * and repeated at any time; one process at a time runs one.
 *
 * @throws PlatformUnreadable; the signal's reason; Unavailable; the database's error
 */
export async function reconcile(options: ReconcileOptions): Promise<Outcomes> {
  const { db, business, from, to, signal, onProgress, pausesMs = defaultPausesMs, dryRun = false } = options;
  const reader = createReader(db, options.platform, signal);
  const filling: FillOptions = { ...options, reader, dryRun, signal, pausesMs };
  const days = { from, to };
  const pass: Pass = dryRun
    ? { id: '', business, ...days, startedAt: new Date() }
    : await beginPass(db, business, days);
  const pages = dryRun ? [] : await readPages(db, pass);
  const counts = { ...noCounts };
  const note = async (page: ReadPage, found: Counts) => {
    if (!dryRun) await notePage(db, pass, page);
    pages.push(page);
    addTo(counts, found);
    onProgress?.(found);
  };

  const unsettled: Window[] = [];
  const failures: PlatformUnreadable[] = [];
  for (const window of windowsOf(days)) {
    const read = pages.filter((page) => page.from === window.from && page.round > 0);
    const compared = pages.filter(({ from }) => from < window.from).flatMap(({ ids }) => ids);
    try {
      const asOf = await readWindow(reader, window, read, compared, async (reading, page) => {
        await note(page, await compareAndFill(filling, reading, window.from));
      });
      if (!asOf) unsettled.push(window);
      else if (!dryRun) await noteComplete(db, pass, window, oldest(pages));
    } catch (error) {
      // A page that cannot be read must not leave the days after it uncompared.
      if (!(error instanceof PlatformUnreadable)) throw error;
      failures.push(error);
    }
  }
  if (failures[0]) throw failures[0];

  const listed = pages.flatMap(({ ids }) => ids);
  await readUnlisted(
    filling,
    await findUnlisted(db, pass, listed),
    async (row) => (dryRun ? undefined : noteUnknown(db, pass, row)),
    async (ids, found, askedAt) => {
      const page = pages.filter(({ round }) => round === 0).length;
      await note({ from, round: 0, page, isLast: false, hasLate: false, ids, askedAt }, found);
    },
  );
  if (!dryRun) {
    await endPass(db, pass);
  }
  return { counts, unsettled };
}
