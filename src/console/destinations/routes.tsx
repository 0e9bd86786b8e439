import { listAttempts } from '../../destinations/attempt-table.ts';
import { listDestinations, setState } from '../../destinations/destination-table.ts';
import { listWaiting, redrive } from '../../destinations/waiting-table.ts';
import type { Section } from '../dependencies.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { sendPage } from '../ui/page.tsx';
import { DestinationsPage } from './pages.tsx';

const shown = 20;

/** Where changes are sent to. They are added and removed by a command, which shows the secret. */
export const section: Section = {
  addRoutes(routes, { db, logAccess }) {
    routes.get('/destinations', 'operator', async (req, res) => {
      const destinations = await listDestinations(db);
      const { id } = readForm(req.query, { id: text }).data;
      const chosen = destinations.find((one) => one.id === id) ?? destinations[0];
      const attempts = chosen ? await listAttempts(db, chosen.id, shown) : [];
      const waiting = chosen ? await listWaiting(db, chosen.id, shown) : [];
      sendPage(res, 'Webhooks', <DestinationsPage {...{ destinations, chosen, attempts, waiting }} />);
    });

    routes.post('/destinations', 'operator', async (req, res) => {
      const fields = { id: text, command: oneOf(['pause', 'resume', 'redrive']) };
      const { id = '', command } = readForm(req.body, fields).data;
      await db.transaction().execute(async (tx) => {
        await logAccess(res, { action: 'destination', filter: { command, destination: id } }, tx);
        if (command === 'pause') await setState(tx, id, 'paused', null);
        if (command === 'resume') await setState(tx, id, 'active', null);
        if (command !== 'pause') await redrive(tx, id, command === 'redrive');
      });
      res.redirect(303, `/console/destinations?${new URLSearchParams({ id })}`);
    });
  },
};
