import type { Request, Response } from 'express';
import { uuid } from '../../common/uuid.ts';
import { patientsIn } from '../../families/index.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import { readNotes } from '../../store/notes.ts';
import { readCauses } from '../../store/refusals.ts';
import { PageNotFound } from '../errors.ts';
import { readForm } from '../read-form.ts';
import { readNewest } from '../records/queries.ts';
import type { Section } from '../section.ts';
import { sendPage } from '../ui/page.tsx';
import { DeliveryDetail } from './detail-page.tsx';
import { listDeliveries, parseFilter, placeFields, readDelivery } from './list.ts';
import { DeliveryList } from './list-page.tsx';

/** A list of deliveries with filters, and a page for each delivery. */
export const section: Section = {
  entry: { title: 'Deliveries', path: '/deliveries' },
  addRoutes(routes, { families, timezone, db, logAccess }) {
    routes.get('/deliveries', 'viewer', async (req, res) => {
      const parsed = parseFilter(req.query, families, timezone);
      const { data: place } = readForm(req.query, placeFields);
      const { data, status } = parsed;
      const listed = status === 200 ? await listDeliveries(db, families, data, place) : undefined;
      const live = !place.before && !place.after;
      sendPage(res, 'Deliveries', <DeliveryList {...{ families, parsed, listed, live }} />, { status });
    });

    const show = async (req: Request, res: Response, revealed: boolean) => {
      const id = String(req.params.id);
      const delivery = uuid.test(id) ? await readDelivery(db, families, id) : undefined;
      if (!delivery) throw new PageNotFound('There is no such delivery.');
      const family = families.find(({ name }) => name === delivery.family);
      const recordKey = family && { family, business: delivery.business_id, id: delivery.record ?? id };
      const record = recordKey && (await readNewest(db, recordKey));
      const [[cause], notes] = await Promise.all([
        delivery.error ? readCauses(db, [delivery.error]) : [],
        readNotes(db, delivery.id),
      ]);
      if (revealed) {
        const patients = [...patientsIn(delivery.envelope), ...patientsOfRow(record?.newest.row ?? {})];
        const filter = { delivery: delivery.id };
        await logAccess(res, { action: 'reveal', patients, filter, rows: 1 });
      }
      const page = <DeliveryDetail {...{ delivery, recordKey, record, revealed, cause, notes }} />;
      sendPage(res, delivery.event, page);
    };
    routes.get('/deliveries/:id', 'viewer', (req, res) => show(req, res, false));
    routes.post('/deliveries/:id/personal', 'privacy', (req, res) => show(req, res, true));
  },
};
