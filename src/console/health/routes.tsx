import type { ConsoleDependencies } from '../dependencies.ts';
import type { Routes } from '../guard.ts';
import { sendPage } from '../ui/page.tsx';
import { readHealth } from './read-health.tsx';

/** What works, and what is wrong: the one page that is there while PostgreSQL is unavailable. */
export function addHealth(routes: Routes, dependencies: ConsoleDependencies): void {
  routes.get('/health', async (_req, res) => {
    sendPage(res, { title: 'Health' }, await readHealth(dependencies, res.locals.outage !== undefined));
  });
}
