import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import { sendStream } from '../../common/send-stream.ts';
import { notAnalyzed } from '../../privacy/analyze.ts';
import { erasePatient } from '../../privacy/erasure/erase.ts';
import { listCertificates } from '../../privacy/erasure/erasure-list.ts';
import { previewErasure } from '../../privacy/erasure/preview.ts';
import { isBeingErased } from '../../privacy/erasure/running.ts';
import { accessTo, type HeldData, jsonOf, withPatient } from '../../privacy/export.ts';
import type { Patient } from '../../privacy/find-deliveries.ts';
import { holdPatient, isHeld, releasePatient } from '../../privacy/hold.ts';
import { readAround, readHeld } from '../../search/held.ts';
import type { Section } from '../dependencies.ts';
import { guid, readForm } from '../read-form.ts';
import { actorOf } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { ConfirmErasure, ErasureDone, ErasureRunning, PatientSearch } from './pages.tsx';
import { PatientPage } from './patient-page.tsx';
import { readPatient } from './read-patient.ts';

// A browser, or a proxy, waits for a minute or so.
const answerAfterMs = 10_000;

/** What is held about a patient: access, erasure and holds. Ids are posted, so that they are in no address. */
export const section: Section = {
  addRoutes(routes, dependencies) {
    const { families, erasure, db, downloadDb, logAccess, log } = dependencies;

    routes.get('/patients', 'privacy', async (_req, res) => {
      sendPage(res, 'Patients', <PatientSearch certificates={await listCertificates(db)} />);
    });

    /** Reads what is held, once the entry in the access log is written. */
    const read = <T,>(
      res: Response,
      patient: Patient,
      action: 'reveal' | 'export',
      use: (held: HeldData) => Promise<T>,
    ) =>
      withPatient(downloadDb, families, patient, async (held) => {
        await logAccess(res, accessTo(patient, held, action));
        return use(held);
      });

    const show = async (res: Response, patient: Patient) => {
      const known = await read(res, patient, 'reveal', (held) => readHeld(held, families));
      const around = await readAround(db, families, patient);
      const [held, isRunning] = [await isHeld(db, patient), await isBeingErased(db, patient)];
      sendPage(res, 'Patient', <PatientPage {...{ patient, ...known, ...around, held, isRunning }} />);
    };
    routes.post('/patients', 'privacy', async (req, res) => {
      await show(res, await readPatient(dependencies, req.body));
    });

    routes.post('/patients/export', 'privacy', async (req, res) => {
      await read(res, await readPatient(dependencies, req.body), 'export', async (held) => {
        res.setHeader('Content-Disposition', 'attachment; filename="patient.json"');
        res.type('json');
        await sendStream(res, () => [Readable.from(jsonOf(held))]);
      });
    });

    const change =
      (act: typeof holdPatient): RequestHandler =>
      async (req, res) => {
        const patient = await readPatient(dependencies, req.body);
        await act(db, patient, actorOf(res));
        await show(res, patient);
      };
    routes.post('/patients/hold', 'privacy', change(holdPatient));
    routes.post('/patients/release', 'privacy', change(releasePatient));

    routes.post('/patients/erase/preview', 'privacy', async (req, res) => {
      const patient = await readPatient(dependencies, req.body);
      const preview = await previewErasure(downloadDb, families, patient, erasure);
      sendPage(res, 'Preview erasure', <ConfirmErasure {...{ patient, preview }} keepMs={erasure.keepMs} />);
    });
    routes.post('/patients/erase', 'privacy', async (req, res) => {
      const patient = await readPatient(dependencies, req.body);
      const onNotAnalyzed = (tables: readonly string[]) => log.warn({ tables }, notAnalyzed);
      const { also } = readForm(req.body, {
        also: z.preprocess((given) => [given].flat(), z.array(guid)),
      }).data;
      const options = { ...erasure, actor: actorOf(res), onNotAnalyzed, ...(also && { also }) };
      const erasing = erasePatient(downloadDb, families, patient, options);
      const certificate = await Promise.race([erasing, sleep(answerAfterMs, undefined, { ref: false })]);
      if (certificate) return sendPage(res, 'Erased', <ErasureDone certificate={certificate} />);
      // It goes on; a worker continues it if this process ends.
      erasing.catch((error) =>
        log.error({ err: error }, 'an erasure was interrupted; a worker continues it'),
      );
      sendPage(res, 'Erasure is running', <ErasureRunning />);
    });
  },
};
