import type { Router } from 'express';
import type { ConsoleDependencies } from '../dependencies.ts';
import { type ConsoleStore, isTimeout } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { cached } from './cached.ts';
import { readArrivals, readBacklog, readDays, readHours, readSilences } from './figures.ts';
import { Overview } from './page.tsx';

/** The first page: last callbacks, backlog, failures, health. */
export function addOverview(
  router: Router,
  { families, readiness }: ConsoleDependencies,
  store: ConsoleStore,
): void {
  const { db } = store.pages;
  const silences = cached(() => readSilences(db));
  const arrivals = async () => {
    const [found, shown] = await Promise.all([readArrivals(db), readHours(db)]);
    return { ...found, shown };
  };
  router.get('/', async (_req, res) => {
    const [ready, backlog, arrived, days, silent] = await Promise.all([
      readiness(),
      unlessTimeout(readBacklog(db)),
      unlessTimeout(arrivals()),
      unlessTimeout(readDays(db)),
      silences(),
    ]);
    const page = { title: 'Overview', section: 'overview', charts: true } as const;
    sendPage(
      res,
      page,
      <Overview
        readiness={ready}
        families={families.map(({ name }) => name)}
        backlog={backlog}
        arrivals={arrived}
        days={days}
        silences={silent}
      />,
    );
  });
}

/** A query that times out must not hide the other figures. */
const unlessTimeout = <T,>(query: Promise<T>): Promise<T | undefined> =>
  query.catch((error) => {
    if (!isTimeout(error)) throw error;
    return undefined;
  });
