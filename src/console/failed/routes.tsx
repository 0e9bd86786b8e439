import type { Response } from 'express';
import type { VNode } from 'preact';
import { countDeliveries, type ReplayFilter, replayDeliveries } from '../../apply/replay.ts';
import { readCauses } from '../../store/refusals.ts';
import { actorOf } from '../log-access.ts';
import { defineSection } from '../section.ts';
import { read } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { readReplayForm } from './form.ts';
import { ConfirmReplay, FailedPage, ReplayDone } from './pages.tsx';
import { failedGroups } from './queries.ts';

/** A page has to be sent before the browser, or a proxy in between, gives up. */
const limit = 2_000;

const send = (res: Response, title: string, page: VNode) => sendPage(res, { title, back: true }, page);

/** Failed deliveries, and their replay: a preview first, then the replay itself. */
export const section = defineSection({
  entry: { title: 'Failed', path: '/failed', count: 'failed' },
  rights: {
    'GET /failed': 'viewer',
    'POST /replay/preview': 'operator',
    'POST /replay': 'operator',
  },
  addRoutes(routes, { families, timezone, db, logAccess }) {
    routes.get('/failed', async (_req, res) => {
      const groups = await read(db, failedGroups);
      const errors = groups.map(({ error }) => error);
      const causes = await readCauses(db, errors);
      const explained = groups.map((group, index) => ({ ...group, cause: causes[index]! }));
      const page = <FailedPage groups={explained} families={families} />;
      sendPage(res, { title: 'Failed deliveries' }, page);
    });

    const replay = async (filter: ReplayFilter, dryRun: boolean) => ({
      matching: await countDeliveries(db, families, filter),
      ...(await replayDeliveries(db, families, filter, { dryRun, limit })),
    });

    routes.post('/replay/preview', async (req, res) => {
      const { filter, entered } = readReplayForm(req.body, families, timezone);
      const outcome = await replay(filter, true);
      send(res, 'Preview replay', <ConfirmReplay outcome={outcome} values={entered} />);
    });

    routes.post('/replay', async (req, res) => {
      const { filter, entered } = readReplayForm(req.body, families, timezone);
      const rows = Math.min(await countDeliveries(db, families, filter), limit);
      // PostgreSQL's error may quote a value.
      const logged = { ...filter, ...(filter.error && { error: 'one error' }) };
      await logAccess({ actor: actorOf(res), action: 'replay', filter: logged, rows });
      const outcome = await replay(filter, false);
      send(res, 'Replayed', <ReplayDone outcome={outcome} values={entered} />);
    });
  },
});
