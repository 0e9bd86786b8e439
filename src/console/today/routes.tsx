import type { Section } from '../dependencies.ts';
import { beginPage, sendPage } from '../ui/page.tsx';
import { Today } from './pages.tsx';
import { readToday } from './queries.ts';

/** The clinics' day: takings, appointments, dues, and what needs somebody. */
export const section: Section = {
  addRoutes(routes, dependencies) {
    routes.get('/today', 'viewer', async (_req, res) => {
      beginPage(res, 'Today', {});
      sendPage(res, 'Today', <Today {...(await readToday(dependencies))} />);
    });
  },
};
