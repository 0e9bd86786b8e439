import type { RawBuilder } from 'kysely';
import { BadInput } from '../errors.ts';
import { Problems } from '../health/health.tsx';
import { originOf } from '../origin.ts';
import { rejectedByReason } from '../rejections/queries.ts';
import type { Section } from '../section.ts';
import { read, unlessTimeout } from '../store.ts';
import { beginPage, sendPage } from '../ui/page.tsx';
import { cached } from './cached.ts';
import { Fresh, TestResult } from './fresh.tsx';
import { Overview } from './pages.tsx';
import {
  arrivalsQuery,
  backlogQuery,
  daysQuery,
  freshQuery,
  latencyQuery,
  silencesQuery,
} from './queries.ts';
import { sendTest } from './send-test.ts';

const hourMs = 3_600_000;

/** The first page: last callbacks, backlog, failures, health. */
export const section: Section = {
  entry: { title: 'Overview', path: '/' },
  addRoutes(routes, { readiness, problems, receiver, db, logAccess }) {
    const readSilent = cached(() => read(db, silencesQuery));
    const tryRead = <Row,>(query: RawBuilder<Row>) => unlessTimeout(read(db, query));
    routes.get('/', 'viewer', async (req, res) => {
      const [state] = await read(db, freshQuery);
      const charts = !state!.fresh;
      beginPage(res, 'Overview', { charts });
      const since = new Date(Date.now() - hourMs);
      const [checks, found, backlog, arrivals, days, silences, latency, rejected] = await Promise.all([
        readiness(),
        problems().catch(() => undefined),
        tryRead(backlogQuery),
        tryRead(arrivalsQuery),
        tryRead(daysQuery),
        readSilent(),
        tryRead(latencyQuery),
        tryRead(rejectedByReason({ since })),
      ]);
      const figures = {
        readiness: checks,
        problems: <Problems problems={found} />,
        backlog: backlog?.[0],
        arrivals,
        days,
        silences,
        latency: latency?.[0],
        rejected,
        since,
        open: receiver.checks.length === 0,
        setup: state!.fresh && <Fresh receiver={receiver} origin={originOf(req)} />,
      };
      sendPage(res, 'Overview', <Overview {...figures} />);
    });

    routes.post('/test-callback', 'operator', async (_req, res) => {
      if (!receiver.testPath) throw new BadInput('A test callback needs EVENTS_PATH, which is not set.');
      await logAccess(res, { action: 'test callback' });
      sendPage(res, 'Test callback', <TestResult tested={await sendTest(db, receiver)} />);
    });
  },
};
