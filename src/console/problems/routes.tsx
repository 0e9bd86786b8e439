import { groupQuarantine, readDropped } from '../../intake/list-quarantine.ts';
import { groupFailed } from '../../store/refusals.ts';
import { rejectedByReason } from '../../store/rejections.ts';
import type { Section } from '../dependencies.ts';
import { read } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { ProblemsPage } from './pages.tsx';
import { addReplay } from './replay.tsx';
import { replayOfDeliveries } from './replay-deliveries.ts';

const dayMs = 86_400_000;

/** What failed, what was rejected and what lies in the quarantine, by cause; and the replay of what failed. */
export const section: Section = {
  addRoutes(routes, dependencies) {
    const { db } = dependencies;
    routes.get('/problems', 'viewer', async (_req, res) => {
      const [failed, bodies, dropped, rejected] = await Promise.all([
        groupFailed(db),
        groupQuarantine(db),
        readDropped(db),
        read(db, rejectedByReason({ since: new Date(Date.now() - dayMs) })),
      ]);
      sendPage(res, 'Problems', <ProblemsPage {...{ failed, bodies, dropped, rejected }} />);
    });
    addReplay(routes, dependencies, replayOfDeliveries(dependencies));
  },
};
