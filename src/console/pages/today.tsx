import { readToday } from '../../reports/today.ts';
import type { Page } from '../page.ts';
import { Today } from '../today/pages.tsx';
import { sendPage } from '../ui/page.tsx';

/** The clinics' day: takings, appointments, dues. */
export const today: Page = (routes, { read }) => {
  routes.get('/today', 'viewer', async (_req, res) => {
    const figures = await read((db) => readToday(db));
    sendPage(res, 'Today', <Today {...figures} />);
  });
};
