import type { Section } from '../dependencies.ts';
import { sendPage } from '../ui/page.tsx';
import { ProblemsPage } from './pages.tsx';
import { readCausesOfAll } from './queries.ts';
import { addReplay } from './replay.tsx';
import { filterFields, replayOfDeliveries } from './replay-deliveries.ts';

/** What failed, what was rejected and what lies in the quarantine, by cause; and the replay of what failed. */
export const section: Section = {
  addRoutes(routes, dependencies) {
    const fields = filterFields(dependencies);
    routes.get('/problems', 'viewer', async (_req, res) => {
      const found = await readCausesOfAll(dependencies.db);
      sendPage(res, 'Problems', <ProblemsPage {...found} fields={fields} />);
    });
    addReplay(routes, dependencies, replayOfDeliveries(dependencies));
  },
};
