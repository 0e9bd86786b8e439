import { readToday } from '../../reports/today.ts';
import type { Section } from '../dependencies.ts';
import { sendPage } from '../ui/page.tsx';
import { Today } from './pages.tsx';

/** The clinics' day: takings, appointments, dues, and what needs somebody. */
export const section: Section = {
  addRoutes(routes, { db, problems }) {
    routes.get('/today', 'viewer', async (_req, res) => {
      const [figures, found] = await Promise.all([readToday(db), problems().catch(() => undefined)]);
      sendPage(res, 'Today', <Today {...figures} found={found} />);
    });
  },
};
