import { callbackStatuses } from '../../common/http-statuses.ts';
import { read } from '../../store/read.ts';
import { reasonOf, rejectedByReason, rejectedByTime } from '../../store/rejections.ts';
import type { Section } from '../dependencies.ts';
import { RejectedTable } from '../problems/rejected-table.tsx';
import { choice, localTime, parseForm } from '../read-form.ts';
import { Filters } from '../ui/filters.tsx';
import { titled, words } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment } from '../ui/values.tsx';

const hourMs = 3_600_000;

/** Why callbacks were rejected, and when: of the last 24 hours, unless the filter says otherwise. */
export const section: Section = {
  addRoutes(routes, { families, timezone, db }) {
    const shape = {
      since: localTime(timezone, 'From'),
      until: localTime(timezone, 'Before'),
      family: choice('Family', [...families.map(({ name }) => name), 'none']),
      // None of those that are rejected has the first.
      status: choice('Status', callbackStatuses.slice(1).map(String)),
    };
    routes.get('/rejections', 'viewer', async (req, res) => {
      const { data, status, ...form } = parseForm(req.query, shape);
      const end = data.until?.getTime() ?? Date.now();
      const since = data.since ?? new Date(end - 24 * hourMs);
      const filter = { ...data, since };
      const unit = end - since.getTime() > 3 * hourMs ? 'hour' : 'minute';
      const [rows, times] = await Promise.all([
        read(db, rejectedByReason(filter)),
        read(db, rejectedByTime(filter, unit)),
      ]);
      const page = (
        <>
          <p>
            Requests that receivers responded to with an error. Counts are a few seconds old, and kept for a
            week.
          </p>
          <Filters action="/console/rejections" {...form} />
          <RejectedTable rows={rows} />
          <h2>By {unit}</h2>
          <Table
            label={`Rejected requests of each ${unit}, last first`}
            rows={times}
            empty="No rejected requests."
            columns={[
              { head: titled(unit), cell: ({ at }) => <Moment at={at} /> },
              { head: 'Family', cell: ({ family }) => words(family) },
              { head: 'Status', cell: ({ status }) => status },
              { head: 'Reason', cell: ({ reason, status }) => reasonOf(reason, status).meaning, wide: true },
              { head: 'Requests', cell: ({ requests }) => formatCount(requests), numeric: true },
            ]}
          />
        </>
      );
      sendPage(res, 'Rejected requests', page, { status });
    });
  },
};
