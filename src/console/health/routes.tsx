import { defineSection } from '../section.ts';
import { sendPage } from '../ui/page.tsx';
import { readHealth } from './read-health.tsx';

/** What works, and what is wrong: the one page that is there while PostgreSQL is unavailable. */
export const section = defineSection({
  worksInOutage: true,
  rights: {
    'GET /health': 'viewer',
  },
  addRoutes(routes, dependencies) {
    routes.get('/health', async (_req, res) => {
      sendPage(res, { title: 'Health' }, await readHealth(dependencies, res.locals.outage !== undefined));
    });
  },
});
