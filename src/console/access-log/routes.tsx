import { z } from 'zod';
import { accessActions } from '../../privacy/log/access-log.ts';
import { listAccess } from '../../privacy/log/audit.ts';
import { actorOf } from '../log-access.ts';
import { takePage } from '../paging.ts';
import { localTime, oneOf, parseForm, readForm, text } from '../read-form.ts';
import { defineSection } from '../section.ts';
import { sendPage } from '../ui/page.tsx';
import { AccessLogPage } from './pages.tsx';

const size = 50;

/** Who saw or did what. Reading it is an entry too. */
export const section = defineSection({
  entry: { title: 'Access log', path: '/access-log' },
  rights: {
    'GET /access-log': 'privacy',
  },
  addRoutes(routes, { timezone, db, logAccess }) {
    routes.get('/access-log', async (req, res) => {
      const [since, until] = [localTime(timezone), localTime(timezone)];
      const shape = { actor: text, action: oneOf(accessActions), since, until };
      const { data, entered, faults } = parseForm(req.query, shape);
      const { data: place } = readForm(req.query, { before: z.coerce.number().int().positive() });
      const isClear = Object.keys(faults).length === 0;
      const filter = { ...data, ...place };
      const listed = isClear ? takePage(await listAccess(db, filter, size + 1), size) : undefined;
      if (listed) await logAccess({ actor: actorOf(res), action: 'audit', filter, rows: listed.rows.length });
      const page = { title: 'Access log', status: isClear ? 200 : 400 } as const;
      sendPage(res, page, <AccessLogPage {...{ entered, faults, listed }} />);
    });
  },
});
