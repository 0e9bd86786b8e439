import type { RouteDependencies } from '../dependencies.ts';
import { BadInput } from '../errors.ts';
import type { Routes } from '../guard.ts';
import { actorOf } from '../record-access.ts';
import { readRejected } from '../rejections/queries.ts';
import { unlessTimeout } from '../store.ts';
import { beginPage, sendPage } from '../ui/page.tsx';
import { cached } from './cached.ts';
import { Fresh, TestResult } from './fresh.tsx';
import { Overview } from './pages.tsx';
import {
  isFresh,
  readArrivals,
  readBacklog,
  readDays,
  readLatency,
  readSilences,
  sendTest,
} from './queries.ts';

const hourMs = 3_600_000;

/** The first page: last callbacks, backlog, failures, health. */
export function addOverview(routes: Routes, dependencies: RouteDependencies): void {
  const { families, readiness, receiver, db, record } = dependencies;
  const names = families.map(({ name }) => name);
  const readSilent = cached(() => readSilences(db));
  routes.get('/', async (req, res) => {
    const fresh = await isFresh(db);
    const page = { title: 'Overview', section: 'overview', charts: !fresh } as const;
    beginPage(res, page);
    const since = new Date(Date.now() - hourMs);
    const [checks, backlog, arrivals, days, silences, latency, rejected] = await Promise.all([
      readiness(),
      unlessTimeout(readBacklog(db)),
      unlessTimeout(readArrivals(db)),
      unlessTimeout(readDays(db)),
      readSilent(),
      unlessTimeout(readLatency(db)),
      unlessTimeout(readRejected(db, { from: since })),
    ]);
    const figures = {
      ...{ readiness: checks, families: names, backlog, arrivals, days, silences, latency, rejected, since },
      open: receiver.checks.length === 0,
      setup: fresh && <Fresh receiver={receiver} origin={`${req.protocol}://${req.host}`} />,
    };
    sendPage(res, page, <Overview {...figures} />);
  });

  routes.post('/test-callback', async (_req, res) => {
    if (!receiver.testPath) throw new BadInput('A test callback needs EVENTS_PATH, which is not set.');
    await record({ actor: actorOf(res), action: 'test callback' });
    const page = { title: 'Test callback', section: 'overview', back: true } as const;
    sendPage(res, page, <TestResult tested={await sendTest(db, receiver)} />);
  });
}
