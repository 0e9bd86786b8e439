import type { Request, Response } from 'express';
import { patientsIn } from '../../families/index.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import { readForm } from '../read-form.ts';
import type { Section } from '../section.ts';
import { sendPage } from '../ui/page.tsx';
import { DeliveryDetail, readDetails } from './detail-page.tsx';
import { listDeliveries, parseFilter, placeFields } from './list.ts';
import { DeliveryList } from './list-page.tsx';

export const section: Section = {
  entry: { title: 'Deliveries', path: '/deliveries' },
  addRoutes(routes, { families, timezone, db, logAccess }) {
    routes.get('/deliveries', 'viewer', async (req, res) => {
      const { data, status, ...filter } = parseFilter(req.query, families, timezone);
      const { data: place } = readForm(req.query, placeFields);
      const listed = status === 200 ? await listDeliveries(db, families, data, place) : undefined;
      const live = !place.before && !place.after;
      sendPage(res, 'Deliveries', <DeliveryList {...{ filter, listed, live }} />, { status });
    });

    const show = async (req: Request, res: Response, revealed: boolean) => {
      const details = await readDetails(db, families, String(req.params.id));
      const { delivery, record } = details;
      if (revealed) {
        const patients = [...patientsIn(delivery.envelope), ...patientsOfRow(record?.newest.row ?? {})];
        const filter = { delivery: delivery.id };
        await logAccess(res, { action: 'reveal', patients, filter, rows: 1 });
      }
      sendPage(res, delivery.event, <DeliveryDetail {...details} revealed={revealed} />);
    };
    routes.get('/deliveries/:id', 'viewer', (req, res) => show(req, res, false));
    routes.post('/deliveries/:id/personal', 'privacy', (req, res) => show(req, res, true));
  },
};
