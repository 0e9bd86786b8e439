import { callbackStatuses } from '../../common/http-statuses.ts';
import { localTime, oneOf, parseForm } from '../read-form.ts';
import { defineSection } from '../section.ts';
import { read } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { RejectionsPage } from './pages.tsx';
import { rejectedByReason, rejectedByTime } from './queries.ts';

const hourMs = 3_600_000;

/** Why callbacks were rejected, and when: of the last 24 hours, unless the filter says otherwise. */
export const section = defineSection({
  below: '/',
  rights: {
    'GET /rejections': 'viewer',
  },
  addRoutes(routes, { families, timezone, db }) {
    const names = families.map(({ name }) => name);
    routes.get('/rejections', async (req, res) => {
      const { data, entered, faults } = parseForm(req.query, {
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
      const status = Object.keys(faults).length > 0 ? 400 : 200;
      const content = <RejectionsPage {...{ rows, since, times, unit, families: names, entered, faults }} />;
      sendPage(res, { title: 'Rejected requests', back: true, status }, content);
    });
  },
});
