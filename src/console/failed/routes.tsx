import type { Router } from 'express';
import type { ConsoleDependencies } from '../dependencies.ts';
import type { ConsoleStore } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { readFailedGroups } from './groups.ts';
import { ConfirmReplay, FailedPage, ReplayDone } from './pages.tsx';
import { readReplayForm, replayNow } from './replay.ts';

const back = [{ name: 'Failed', href: '/console/failed' }];

/** What has failed, and applying it again: tried out first, and done when that was seen. */
export function addFailed(router: Router, dependencies: ConsoleDependencies, store: ConsoleStore): void {
  const { families, timezone, log } = dependencies;
  const { db } = store.pages;

  router.get('/failed', async (_req, res) => {
    const groups = await readFailedGroups(db);
    const page = { title: 'Failed deliveries', section: 'failed' } as const;
    sendPage(res, page, <FailedPage groups={groups} families={families} />);
  });

  router.post('/replay/preview', async (req, res) => {
    const { filter, values } = readReplayForm(req.body, families, timezone);
    const outcome = await replayNow(db, families, filter, { dryRun: true });
    const page = { title: 'Replay?', section: 'failed', trail: back } as const;
    sendPage(res, page, <ConfirmReplay outcome={outcome} values={values} />);
  });

  router.post('/replay', async (req, res) => {
    const { filter, values } = readReplayForm(req.body, families, timezone);
    const outcome = await replayNow(db, families, filter, { dryRun: false });
    const { applied, changed, failed } = outcome;
    log.info({ applied, changed, failed, delivery: filter.id }, 'the console replayed deliveries');
    const page = { title: 'Replayed', section: 'failed', trail: back } as const;
    sendPage(res, page, <ReplayDone outcome={outcome} values={values} />);
  });
}
