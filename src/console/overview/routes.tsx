import type { RouteDependencies } from '../dependencies.ts';
import type { Routes } from '../guard.ts';
import { isTimeout } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { cached } from './cached.ts';
import { Overview } from './pages.tsx';
import { readArrivals, readBacklog, readDays, readSilences } from './queries.ts';

/** The first page: last callbacks, backlog, failures, health. */
export function addOverview(routes: Routes, { families, readiness, db }: RouteDependencies): void {
  const names = families.map(({ name }) => name);
  const readSilent = cached(() => readSilences(db));
  routes.get('/', async (_req, res) => {
    const [checks, backlog, arrivals, days, silences] = await Promise.all([
      readiness(),
      unlessTimeout(readBacklog(db)),
      unlessTimeout(readArrivals(db)),
      unlessTimeout(readDays(db)),
      readSilent(),
    ]);
    const figures = { readiness: checks, families: names, backlog, arrivals, days, silences };
    sendPage(res, { title: 'Overview', section: 'overview', charts: true }, <Overview {...figures} />);
  });
}

/** A query that times out must not hide the other figures. */
const unlessTimeout = <T,>(query: Promise<T>): Promise<T | undefined> =>
  query.catch((error) => {
    if (!isTimeout(error)) throw error;
    return undefined;
  });
