import type { Router } from 'express';
import { countDeliveries, type ReplayFilter, replayDeliveries } from '../../apply/replay.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { sendPage } from '../ui/page.tsx';
import { readReplayForm } from './form.ts';
import { readFailedGroups } from './groups.ts';
import { ConfirmReplay, FailedPage, ReplayDone } from './pages.tsx';

/** A page has to be sent before the browser, or a proxy in between, gives up. */
const limit = 2_000;
const section = 'failed';

/** Failed deliveries, and their replay: a preview first, then the replay itself. */
export function addFailed(router: Router, { families, timezone, log, db }: RouteDependencies): void {
  router.get('/failed', async (_req, res) => {
    const groups = await readFailedGroups(db);
    sendPage(
      res,
      { title: 'Failed deliveries', section },
      <FailedPage groups={groups} families={families} />,
    );
  });

  const replay = async (filter: ReplayFilter, dryRun: boolean) => ({
    matching: await countDeliveries(db, filter),
    ...(await replayDeliveries(db, families, filter, { dryRun, limit })),
  });

  router.post('/replay/preview', async (req, res) => {
    const { filter, entered } = readReplayForm(req.body, families, timezone);
    const outcome = await replay(filter, true);
    const page = { title: 'Preview replay', section, back: true } as const;
    sendPage(res, page, <ConfirmReplay outcome={outcome} values={entered} />);
  });

  router.post('/replay', async (req, res) => {
    const { filter, entered } = readReplayForm(req.body, families, timezone);
    const outcome = await replay(filter, false);
    const { applied, changed, failed } = outcome;
    log.info({ applied, changed, failed, delivery: filter.id }, 'the console replayed deliveries');
    const page = { title: 'Replayed', section, back: true } as const;
    sendPage(res, page, <ReplayDone outcome={outcome} values={entered} />);
  });
}
