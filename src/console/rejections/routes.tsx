import { callbackStatuses } from '../../common/http-statuses.ts';
import { rejectedByReason, rejectedByTime } from '../../store/rejections.ts';
import type { Section } from '../dependencies.ts';
import { choice, localTime, oneOf, parseForm } from '../read-form.ts';
import { read } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { RejectionsPage } from './pages.tsx';

const hourMs = 3_600_000;

/** Why callbacks were rejected, and when: of the last 24 hours, unless the filter says otherwise. */
export const section: Section = {
  addRoutes(routes, { families, timezone, db }) {
    const statuses = callbackStatuses.map(String);
    const shape = {
      since: localTime(timezone, 'From'),
      until: localTime(timezone, 'Before'),
      family: choice('Family', [...families.map(({ name }) => name), 'none']),
      // None of those that are rejected has the first.
      status: oneOf(statuses).meta({ label: 'Status', kind: 'choice', options: statuses.slice(1) }),
    };
    routes.get('/rejections', 'viewer', async (req, res) => {
      const { data, status, ...form } = parseForm(req.query, shape);
      const since = data.since ?? new Date((data.until?.getTime() ?? Date.now()) - 24 * hourMs);
      const filter = { ...data, since };
      const spanMs = (data.until?.getTime() ?? Date.now()) - since.getTime();
      const unit = spanMs > 3 * hourMs ? 'hour' : 'minute';
      const [rows, times] = await Promise.all([
        read(db, rejectedByReason(filter)),
        read(db, rejectedByTime(filter, unit)),
      ]);
      sendPage(res, 'Rejected requests', <RejectionsPage {...{ rows, times, unit, form }} />, { status });
    });
  },
};
