import { Router } from 'express';
import { isAuthorized } from '../common/secrets.ts';
import { shareFor } from '../common/timeouts.ts';
import type { RunningCore } from '../receiver/feature.ts';
import { NotAdmin, send } from '../receiver/http/responses.ts';
import { type Readiness, readReadiness } from './process-checks.ts';
import { createScrape } from './scrape.ts';

const sharedMs = 1_000;

/** `GET /readyz`, and `GET /metrics` where METRICS_TOKEN is set. */
export function createRoute(core: RunningCore): Router {
  const router = Router({ caseSensitive: true });
  const readShared = shareFor(sharedMs, () => readReadiness(core));

  router.get('/readyz', async (_req, res) => {
    const { ready: takes, checks } = await readShared();
    const readiness = { ready: takes && !core.process.isStopping?.(), checks };
    send(res, readiness.ready ? 200 : 503, 'application/json', linesOf(readiness));
  });

  const { metricsToken } = core.config;
  if (!metricsToken) return router;
  const scrape = createScrape(core);
  router.get('/metrics', async (req, res) => {
    if (!isAuthorized(req, metricsToken))
      throw new NotAdmin('Send the header Authorization: Bearer <METRICS_TOKEN>.');
    const { type, text } = await scrape();
    send(res, 200, type, text);
  });
  return router;
}

/** A line per check, to be read in a terminal. Strangers read it: only doctor and the page Health show details. */
function linesOf({ ready, checks }: Readiness): string {
  const lines = checks.map(({ name, status }) => JSON.stringify({ name, status }));
  return `{"ready":${ready},"checks":[\n${lines.join(',\n')}\n]}\n`;
}
