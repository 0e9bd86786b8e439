import { gapsQuery, passesQuery, summaryQuery } from '../../reports/completeness.ts';
import { read, unlessTimeout } from '../../store/read.ts';
import type { Section } from '../dependencies.ts';
import { sendPage } from '../ui/page.tsx';
import { CompletenessPage } from './pages.tsx';

/** What the comparison with the platform has found, and what to do. */
export const section: Section = {
  addRoutes(routes, { db }) {
    routes.get('/completeness', 'viewer', async (_req, res) => {
      const passes = await read(db, passesQuery);
      const [gaps, summary] = await Promise.all([
        read(db, gapsQuery),
        // It counts callbacks of many days.
        unlessTimeout(read(db, summaryQuery)),
      ]);
      sendPage(res, 'Completeness', <CompletenessPage {...{ passes, gaps, summary }} />);
    });
  },
};
