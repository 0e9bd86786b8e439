import type { Request, RequestHandler, Response } from 'express';
import { erasePatient } from '../../privacy/erase.ts';
import { listCertificates } from '../../privacy/erasure-list.ts';
import { accessTo, readPatient, zipPatient } from '../../privacy/export.ts';
import type { Patient } from '../../privacy/find-deliveries.ts';
import { holdPatient, isHeld, releasePatient } from '../../privacy/hold.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { BadInput, NotFound } from '../errors.ts';
import type { Routes } from '../guard.ts';
import { readForm, text } from '../read-form.ts';
import { actorOf } from '../record-access.ts';
import { findPatient } from '../things/queries.ts';
import { sendPage } from '../ui/page.tsx';
import { ConfirmErasure, ErasureDone, PatientPage, PatientSearch } from './pages.tsx';

const section = 'patients';
const back = true;
const thingFields = { family: text, thing: text, business: text };

/** What is held about a patient: access, erasure and holds. Ids are posted, so that they are in no address. */
export function addPatients(routes: Routes, { families, erasure, db, record }: RouteDependencies): void {
  routes.get('/patients', async (_req, res) => {
    const certificates = await listCertificates(db);
    sendPage(res, { title: 'Patients', section }, <PatientSearch certificates={certificates} />);
  });

  /** Reads what is held, once the entry in the access log is written. */
  const read = async (res: Response, patient: Patient, action: 'reveal' | 'export') => {
    const data = await readPatient(db, families, patient);
    await record({ actor: actorOf(res), ...accessTo(patient, data, action) });
    return data;
  };

  const show = async (res: Response, patient: Patient) => {
    const data = await read(res, patient, 'reveal');
    const held = await isHeld(db, patient);
    const page = { title: 'Patient', section, back } as const;
    sendPage(res, page, <PatientPage {...{ patient, data, families, held }} />);
  };
  routes.post('/patients', async (req, res) => {
    const { family, thing, business } = readForm(req.body, thingFields).data;
    const known = families.find(({ name }) => name === family);
    if (!known || !thing) return show(res, readPatientForm(req));
    const id = await findPatient(db, { family: known, business: business ?? '', id: thing });
    if (!id) throw new NotFound('There is no such patient.');
    await show(res, { id, businessId: business });
  });

  routes.post('/patients/export', async (req, res) => {
    const zip = await zipPatient(await read(res, readPatientForm(req), 'export'));
    res.setHeader('Content-Disposition', 'attachment; filename="patient.zip"');
    res.type('zip').send(zip);
  });

  const change =
    (act: typeof holdPatient): RequestHandler =>
    async (req, res) => {
      const patient = readPatientForm(req);
      await act(db, patient, actorOf(res));
      await show(res, patient);
    };
  routes.post('/patients/hold', change(holdPatient));
  routes.post('/patients/release', change(releasePatient));

  routes.post('/patients/erase/preview', async (req, res) => {
    const patient = readPatientForm(req);
    const options = { ...erasure, actor: actorOf(res), dryRun: true };
    const { counts } = await erasePatient(db, families, patient, options);
    const page = { title: 'Preview erasure', section, back } as const;
    sendPage(res, page, <ConfirmErasure {...{ patient, counts }} keepMs={erasure.keepMs} />);
  });
  routes.post('/patients/erase', async (req, res) => {
    const patient = readPatientForm(req);
    const certificate = await erasePatient(db, families, patient, { ...erasure, actor: actorOf(res) });
    sendPage(res, { title: 'Erased', section, back }, <ErasureDone certificate={certificate} />);
  });
}

/** @throws BadInput */
function readPatientForm(req: Request): Patient {
  const { patient, business } = readForm(req.body, { patient: text, business: text }).data;
  if (!patient) throw new BadInput('Enter the id of a patient.');
  return { id: patient, businessId: business };
}
