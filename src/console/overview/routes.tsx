import type { RawBuilder } from 'kysely';
import { BadInput } from '../errors.ts';
import { Problems } from '../health/problems.tsx';
import { actorOf } from '../log-access.ts';
import { originOf } from '../origin.ts';
import { rejectedByReason } from '../rejections/queries.ts';
import { defineSection } from '../section.ts';
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
export const section = defineSection({
  entry: { title: 'Overview', path: '/' },
  rights: {
    'GET /': 'viewer',
    'POST /test-callback': 'operator',
  },
  addRoutes(routes, { readiness, problems, receiver, db, logAccess }) {
    const readSilent = cached(() => read(db, silencesQuery));
    const tryRead = <Row,>(query: RawBuilder<Row>) => unlessTimeout(read(db, query));
    routes.get('/', async (req, res) => {
      const [state] = await read(db, freshQuery);
      const page = { title: 'Overview', charts: !state!.fresh } as const;
      beginPage(res, page);
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
      sendPage(res, page, <Overview {...figures} />);
    });

    routes.post('/test-callback', async (_req, res) => {
      if (!receiver.testPath) throw new BadInput('A test callback needs EVENTS_PATH, which is not set.');
      await logAccess({ actor: actorOf(res), action: 'test callback' });
      const page = { title: 'Test callback', back: true } as const;
      sendPage(res, page, <TestResult tested={await sendTest(db, receiver)} />);
    });
  },
});
