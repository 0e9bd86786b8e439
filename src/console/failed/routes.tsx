import type { Router } from 'express';
import { countDeliveries, type ReplayFilter, replayDeliveries } from '../../apply/replay.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import type { ConsoleStore } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { readReplayForm } from './form.ts';
import { readFailedGroups } from './groups.ts';
import { ConfirmReplay, FailedPage, ReplayDone } from './pages.tsx';

/** A page has to be sent before the browser, or a proxy in between, gives up. */
const limit = 2_000;
const back = [{ name: 'Failed', href: '/console/failed' }];

/** Failed deliveries, and their replay: a preview first, then the replay itself. */
export function addFailed(router: Router, dependencies: ConsoleDependencies, store: ConsoleStore): void {
  const { families, timezone, log } = dependencies;
  const { db } = store.pages;

  router.get('/failed', async (_req, res) => {
    const groups = await readFailedGroups(db);
    const page = { title: 'Failed deliveries', section: 'failed' } as const;
    sendPage(res, page, <FailedPage groups={groups} families={families} />);
  });

  const replay = async (filter: ReplayFilter, dryRun: boolean) => ({
    matching: await countDeliveries(db, filter),
    ...(await replayDeliveries(db, families, filter, { dryRun, limit })),
  });

  router.post('/replay/preview', async (req, res) => {
    const { filter, values } = readReplayForm(req.body, families, timezone);
    const outcome = await replay(filter, true);
    const page = { title: 'Preview replay', section: 'failed', trail: back } as const;
    sendPage(res, page, <ConfirmReplay outcome={outcome} values={values} />);
  });

  router.post('/replay', async (req, res) => {
    const { filter, values } = readReplayForm(req.body, families, timezone);
    const outcome = await replay(filter, false);
    const { applied, changed, failed } = outcome;
    log.info({ applied, changed, failed, delivery: filter.id }, 'the console replayed deliveries');
    const page = { title: 'Replayed', section: 'failed', trail: back } as const;
    sendPage(res, page, <ReplayDone outcome={outcome} values={values} />);
  });
}
