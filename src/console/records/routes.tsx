import type { Request, Response } from 'express';
import { titleOf } from '../../families/index.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import { redactRow } from '../../privacy/redact.ts';
import { readRecord } from '../../search/record.ts';
import { readRelated } from '../../search/related.ts';
import type { Section } from '../dependencies.ts';
import { PageNotFound } from '../errors.ts';
import { readForm, text } from '../read-form.ts';
import { sendPage } from '../ui/page.tsx';
import { nameOfRecord } from './headline.tsx';
import { RecordPage } from './pages.tsx';

/** What is known of a receipt, a consent form, and so on: now, and what became of it. */
export const section: Section = {
  addRoutes(routes, { families, timezone, db, logAccess }) {
    const show = async (req: Request, res: Response, revealed: boolean) => {
      const family = families.find(({ name }) => name === req.params.family);
      if (!family) throw new PageNotFound('There is no such kind of record.');
      const { business = '', id = '' } = readForm(revealed ? req.body : req.query, {
        business: text,
        id: text,
      }).data;
      const recordKey = { family, business, id };
      const record = await readRecord(db, families, recordKey);
      if (!record)
        throw new PageNotFound(`There is no such ${titleOf(family)}. It never came, or it was erased.`);
      const { versions } = record;
      const [{ row }] = versions;
      if (revealed) {
        const patients = [...new Set(versions.flatMap(({ row }) => patientsOfRow(row)))];
        const filter = { family: family.name, business, id };
        await logAccess(res, { action: 'reveal', patients, filter, rows: versions.length });
      }
      const related = await readRelated(db, families, recordKey, row);
      const title = nameOfRecord(family, redactRow(row, family), timezone);
      sendPage(res, title, <RecordPage {...{ recordKey, record, related, revealed }} />);
    };
    routes.get('/records/:family', 'viewer', (req, res) => show(req, res, false));
    routes.post('/records/:family/personal', 'privacy', (req, res) => show(req, res, true));
  },
};
