import { callbackStatuses } from '../../common/http-statuses.ts';
import { localTime, oneOf, parseForm } from '../read-form.ts';
import type { Section } from '../section.ts';
import { read } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { RejectionsPage } from './pages.tsx';
import { rejectedByReason, rejectedByTime } from './queries.ts';

const hourMs = 3_600_000;

/** Why callbacks were rejected, and when: of the last 24 hours, unless the filter says otherwise. */
export const section: Section = {
  below: '/',
  addRoutes(routes, { families, timezone, db }) {
    const names = families.map(({ name }) => name);
    routes.get('/rejections', 'viewer', async (req, res) => {
      const { data, entered, faults, status } = parseForm(req.query, {
        since: localTime(timezone),
        until: localTime(timezone),
        family: oneOf([...names, 'none']),
        status: oneOf(callbackStatuses.map(String)),
      });
      const since = data.since ?? new Date((data.until?.getTime() ?? Date.now()) - 24 * hourMs);
      const filter = { ...data, since };
      const spanMs = (data.until?.getTime() ?? Date.now()) - since.getTime();
      const unit = spanMs > 3 * hourMs ? 'hour' : 'minute';
      const [rows, times] = await Promise.all([
        read(db, rejectedByReason(filter)),
        read(db, rejectedByTime(filter, unit)),
      ]);
      const page = <RejectionsPage {...{ rows, since, times, unit, families: names, entered, faults }} />;
      sendPage(res, 'Rejected requests', page, { status });
    });
  },
};
