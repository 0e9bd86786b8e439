import { figuresOf, freshQuery } from '../../health/figures.ts';
import { originOf } from '../../sign-in/origin.ts';
import { isEnough } from '../../sign-in/rights.ts';
import { read } from '../../store/read.ts';
import type { Section } from '../dependencies.ts';
import type { Visit } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { readHealth } from './checks.tsx';
import { Fresh } from './fresh.tsx';
import { FiguresPage } from './pages.tsx';

/** What is broken, and how the receiver works: the one page that is there while PostgreSQL is unavailable. */
export const section: Section = {
  worksInOutage: true,
  addRoutes(routes, dependencies) {
    const { receiver, db, circuit } = dependencies;
    const readFigures = figuresOf(dependencies);

    routes.get('/', 'viewer', (_req, res) => {
      const { role } = res.locals.visit as Visit;
      const isForOperations = isEnough(role, 'operator') || res.locals.outage;
      res.redirect(303, isForOperations ? '/console/health' : '/console/today');
    });

    routes.get('/health', 'viewer', async (req, res) => {
      const isAway = circuit.isOpen || Boolean(res.locals.outage);
      const [state] = (!isAway && (await read(db, freshQuery).catch(() => undefined))) || [];
      const [checks, figures] = await Promise.all([
        readHealth(dependencies, isAway),
        isAway ? undefined : readFigures(),
      ]);
      const setup = state?.fresh && <Fresh receiver={receiver} origin={originOf(req)} />;
      sendPage(
        res,
        'Health',
        <>
          {checks}
          {figures && <FiguresPage {...figures} setup={setup} />}
        </>,
      );
    });
  },
};
