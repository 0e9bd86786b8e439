import type { Section } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { sendPage } from '../ui/page.tsx';
import { sendTest, TestResult } from './pages.tsx';

/** The test of the way that callbacks take. */
export const section: Section = {
  addRoutes(routes, { receiver, db, logAccess }) {
    routes.post('/test-callback', 'operator', async (_req, res) => {
      if (!receiver.testPath) throw new BadInput('A test callback needs EVENTS_PATH, which is not set.');
      await logAccess(res, { action: 'test callback' });
      sendPage(res, 'Test callback', <TestResult tested={await sendTest(db, receiver)} />);
    });
  },
};
