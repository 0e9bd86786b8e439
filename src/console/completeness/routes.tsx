import { gapsQuery, passesQuery } from '../../reports/completeness.ts';
import { read } from '../../store/read.ts';
import type { Section } from '../dependencies.ts';
import { sendPage } from '../ui/page.tsx';
import { CompletenessPage } from './pages.tsx';

/** What the comparison with the platform has found, and what to do. */
export const section: Section = {
  addRoutes(routes, { db }) {
    routes.get('/completeness', 'viewer', async (_req, res) => {
      const [passes, gaps] = await Promise.all([read(db, passesQuery), read(db, gapsQuery)]);
      sendPage(res, 'Completeness', <CompletenessPage {...{ passes, gaps }} />);
    });
  },
};
