import type { Request, Response } from 'express';
import { publicKey } from '../../families/index.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import type { Section } from '../dependencies.ts';
import { PageNotFound } from '../errors.ts';
import { guid, readForm, text } from '../read-form.ts';
import { titled } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { nameOf, RecordPage } from './pages.tsx';
import { readRecord } from './queries.ts';

/** What is known of a receipt, a consent form, and so on: now, and in each version. */
export const section: Section = {
  addRoutes(routes, { families, db, logAccess }) {
    const show = async (req: Request, res: Response, revealed: boolean) => {
      const family = families.find(({ name }) => name === req.params.family);
      if (!family) throw new PageNotFound('There is no such family.');
      const shape = { business: text, id: text, from: guid, to: guid };
      const { business = '', id = '', from, to } = readForm(revealed ? req.body : req.query, shape).data;
      const key = { family, business, id };
      const record = await readRecord(db, families, key);
      const name = nameOf(family.name);
      if (!record) throw new PageNotFound(`There is no such ${name}. It never came, or it was erased.`);
      if (revealed) {
        const { versions } = record;
        const patients = [...new Set(versions.flatMap(({ row }) => patientsOfRow(row)))];
        const filter = { family: family.name, business, id };
        await logAccess(res, { action: 'reveal', patients, filter, rows: versions.length });
      }
      const title = titled(name) + (publicKey(family) ? ` ${id}` : '');
      sendPage(res, title, <RecordPage {...{ recordKey: key, record, revealed, from, to }} />);
    };
    routes.get('/records/:family', 'viewer', (req, res) => show(req, res, false));
    routes.post('/records/:family/personal', 'privacy', (req, res) => show(req, res, true));
  },
};
