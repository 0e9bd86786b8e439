import type { Section } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import { originOf } from '../origin.ts';
import { read } from '../store.ts';
import { beginPage, sendPage } from '../ui/page.tsx';
import { Fresh, sendTest, TestResult } from './fresh.tsx';
import { Overview } from './pages.tsx';
import { figuresOf, freshQuery } from './queries.ts';

export const section: Section = {
  entry: { title: 'Overview', path: '/' },
  addRoutes(routes, dependencies) {
    const { receiver, db, logAccess } = dependencies;
    const readFigures = figuresOf(dependencies);
    routes.get('/', 'viewer', async (req, res) => {
      const [state] = await read(db, freshQuery);
      beginPage(res, 'Overview', { charts: !state!.fresh });
      const setup = state!.fresh && <Fresh receiver={receiver} origin={originOf(req)} />;
      const open = receiver.checks.length === 0;
      sendPage(res, 'Overview', <Overview {...{ ...(await readFigures()), open, setup }} />);
    });

    routes.post('/test-callback', 'operator', async (_req, res) => {
      if (!receiver.testPath) throw new BadInput('A test callback needs EVENTS_PATH, which is not set.');
      await logAccess(res, { action: 'test callback' });
      sendPage(res, 'Test callback', <TestResult tested={await sendTest(db, receiver)} />);
    });
  },
};
