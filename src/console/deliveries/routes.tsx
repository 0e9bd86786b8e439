import type { Request, Response } from 'express';
import { uuid } from '../../common/uuid.ts';
import { patientsIn } from '../../families/index.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import { readNotes } from '../../store/notes.ts';
import { readCauses } from '../../store/refusals.ts';
import { PageNotFound } from '../errors.ts';
import { actorOf } from '../log-access.ts';
import { readForm } from '../read-form.ts';
import { readNewest } from '../records/queries.ts';
import { defineSection } from '../section.ts';
import { sendPage } from '../ui/page.tsx';
import { DeliveryDetail } from './detail-page.tsx';
import { parseFilter, placeFields } from './form.ts';
import { listDeliveries } from './list.ts';
import { DeliveryList } from './list-page.tsx';
import { readDelivery } from './read-delivery.ts';

/** A list of deliveries with filters, and a page for each delivery. */
export const section = defineSection({
  entry: { title: 'Deliveries', path: '/deliveries' },
  rights: {
    'GET /deliveries': 'viewer',
    'GET /deliveries/:id': 'viewer',
    'POST /deliveries/:id/personal': 'privacy',
  },
  addRoutes(routes, { families, timezone, db, logAccess }) {
    routes.get('/deliveries', async (req, res) => {
      const parsed = parseFilter(req.query, families, timezone);
      const { data: place } = readForm(req.query, placeFields);
      const isFirst = !place.before && !place.after;
      const isClear = Object.keys(parsed.faults).length === 0;
      const listed = isClear ? await listDeliveries(db, families, parsed.data, place) : undefined;
      const page = { title: 'Deliveries', status: isClear ? 200 : 400 } as const;
      sendPage(
        res,
        page,
        <DeliveryList families={families} parsed={parsed} listed={listed} live={isFirst} />,
      );
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
        await logAccess({ actor: actorOf(res), action: 'reveal', patients, filter, rows: 1 });
      }
      const page = { title: delivery.event, back: true } as const;
      sendPage(res, page, <DeliveryDetail {...{ delivery, recordKey, record, revealed, cause, notes }} />);
    };
    routes.get('/deliveries/:id', (req, res) => show(req, res, false));
    routes.post('/deliveries/:id/personal', (req, res) => show(req, res, true));
  },
});
