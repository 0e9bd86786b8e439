import { setTimeout as sleep } from 'node:timers/promises';
import type { Response } from 'express';
import { z } from 'zod';
import type { Delivery } from '../../callbacks/delivery.ts';
import { formatDuration } from '../../common/local-times.ts';
import { titled, words } from '../../common/words.ts';
import { type AccessEntry, listAccess } from '../../privacy/audit.ts';
import { erasePatient, type Preview, previewErasure } from '../../privacy/erase.ts';
import { listErasures } from '../../privacy/erasures.ts';
import { holdPatient, releasePatient } from '../../privacy/holds.ts';
import { exportPatient, identifyPatient, showPatient, UnclearPatient } from '../../privacy/patient.ts';
import { BadInput, type Page, type PageContext, PageNotFound } from '../page.ts';
import { guid, readForm, text } from '../read-form.ts';
import { hrefTo, visitOf } from '../ui/context.ts';
import { EntryForm, Field, PostButton, PostForm, Submit } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Facts, formatCount, formatCountOf, IdLink, Moment, Named } from '../ui/values.tsx';
import { Entries } from './access-log.tsx';

// A browser, or a proxy, waits for a minute or so.
const answerAfterMs = 10_000;
const maxShown = 500;
const maxLooks = 20;

/** Ids are posted, so that they are in no address. */
export const patients: Page = (routes, core) => {
  const { config, log } = core;

  routes.get('/patients', 'privacy', async (_req, res) => {
    const erasures = await listErasures(core.db, maxShown);
    const content = (
      <>
        <EntryForm
          action="/console/patients"
          hint="See, export or erase what is stored about a patient. Every look is recorded. The search above finds a patient by name or phone."
          fields={[{ name: 'patient', label: 'Id of the patient', required: true, autocomplete: 'off' }]}
          submit="Show"
        />
        <h2>Erased patients</h2>
        <Table
          label="Erasures, newest first"
          rows={erasures}
          empty="No patient has been erased."
          columns={[
            { head: 'Certificate', cell: ({ id }) => <span class="id">{id}</span> },
            { head: 'By', cell: ({ actor }) => actor },
            { head: 'Begun', cell: ({ started_at }) => <Moment at={started_at} /> },
            {
              head: 'Completed',
              cell: ({ completed_at }) => (completed_at ? <Moment at={completed_at} /> : 'not yet'),
            },
            { head: 'Messages without the person', cell: ({ counts }) => inWords(counts) },
          ]}
        />
      </>
    );
    sendPage(res, 'Patients', content);
  });

  const read = async (res: Response, subjects: readonly string[]) => {
    const patient = await showPatient(core, visitOf(res).actor, subjects);
    if (patient.deliveries.length === 0) throw new PageNotFound('Nothing is stored about this patient.');
    return patient;
  };
  const show = async (res: Response, subjects: readonly string[]) => {
    const patient = await read(res, subjects);
    const looks = await listAccess(core.db, { subjects }, maxLooks);
    sendPage(res, 'Patient', <PatientPage {...patient} looks={looks} />);
  };
  routes.post('/patients', 'privacy', async (req, res) => {
    await show(res, await identify(core, res, req.body));
  });

  routes.post('/patients/export', 'privacy', async (req, res) => {
    const subjects = await identify(core, res, req.body);
    const json = await exportPatient(core, visitOf(res).actor, subjects);
    res.attachment('patient.json').type('json').send(json);
  });

  for (const [action, act] of Object.entries({ hold: holdPatient, release: releasePatient }))
    routes.post(`/patients/${action}`, 'privacy', async (req, res) => {
      const subjects = await identify(core, res, req.body);
      await act(core, visitOf(res).actor, subjects);
      await show(res, subjects);
    });

  routes.post('/patients/erase/preview', 'privacy', async (req, res) => {
    const subjects = await identify(core, res, req.body);
    const patient = await read(res, subjects);
    const preview = await previewErasure(core, subjects);
    const { keepMs } = config.erasure;
    sendPage(res, 'Erase a patient?', <ConfirmErasure {...patient} {...preview} keepMs={keepMs} />);
  });
  routes.post('/patients/erase', 'privacy', async (req, res) => {
    const shape = { confirm: text, also: z.preprocess((ids) => [ids].flat(), z.array(guid)) };
    const { confirm, also = [] } = readForm(req.body, shape).data;
    const subjects = await identify(core, res, req.body);
    if (confirm !== proofOf(subjects))
      throw new BadInput('Nothing was erased: these are not the last four characters of the id. Go back.');
    const erasing = erasePatient(core, visitOf(res).actor, subjects, { also });
    const isDone = await Promise.race([erasing, sleep(answerAfterMs, undefined, { ref: false })]);
    // It goes on, and a worker continues it if this process ends.
    if (!isDone)
      erasing.catch((err) => log.error({ err }, 'an erasure was interrupted; a worker continues it'));
    res.redirect(303, hrefTo('/patients'));
  });
};

const subjectsText = z.array(z.string().startsWith('p:')).min(1);

/** @throws BadInput; PageNotFound where no patient or several are meant */
async function identify(core: PageContext, res: Response, form: Record<string, unknown>): Promise<string[]> {
  if (typeof form.subjects === 'string') return subjectsText.parse(JSON.parse(form.subjects));
  const { patient } = readForm(form, { patient: text }).data;
  if (!patient) throw new BadInput('Enter the id of a patient.');
  try {
    return await identifyPatient(core, visitOf(res).actor, [patient]);
  } catch (error) {
    if (!(error instanceof UnclearPatient)) throw error;
    throw new PageNotFound(`${error.message}. The search above finds a patient by name or phone.`);
  }
}

const inWords = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([name, count]) => `${words(name)} ${formatCount(count)}`)
    .join(', ');
const valuesOf = (subjects: readonly string[]) => ({ subjects: JSON.stringify(subjects) });
const idOf = (subject: string) => subject.slice(2);
const proofOf = (subjects: readonly string[]) => subjects[0]!.slice(-4);

interface PatientProps {
  subjects: readonly string[];
  deliveries: readonly Delivery[];
  isHeld: boolean;
}

const namesOf = (deliveries: readonly Delivery[], ...keys: string[]) => {
  const values = deliveries.flatMap(({ body }) => {
    const { data } = JSON.parse(body.toString()) as { data: Record<string, unknown> };
    return keys.flatMap((key) => (typeof data[key] === 'string' ? data[key] : []));
  });
  return [...new Set(values)].slice(0, 5).join(', ');
};

function PatientFacts({ subjects, deliveries, isHeld }: PatientProps) {
  return (
    <Facts
      facts={{
        Name: namesOf(deliveries, 'name', 'patient_name', 'billing_name'),
        Phone: namesOf(deliveries, 'mobile', 'patient_mobile', 'billing_phone'),
        Ids: subjects.map(idOf).join(', '),
        Messages: formatCount(deliveries.length),
        Hold: isHeld ? 'Kept: nothing is deleted until it is released' : 'none',
      }}
    />
  );
}

function PatientPage({ looks, ...patient }: PatientProps & { looks: readonly AccessEntry[] }) {
  const { subjects, deliveries, isHeld } = patient;
  const values = valuesOf(subjects);
  const named = deliveries.flatMap((one) => one.subjects.filter((subject) => subject.startsWith('p:')));
  const others = [...new Set(named)].filter((subject) => !subjects.includes(subject));
  return (
    <>
      <PatientFacts {...patient} />
      {others.length > 0 && (
        <section class="warning">
          <h2>Other ids in the same messages</h2>
          <p>Without an id of this patient, this page, the export and an erasure have a part only.</p>
          {others.map((other) => (
            <PostButton
              key={other}
              action="/console/patients"
              values={valuesOf([...subjects, other])}
              text={`${idOf(other)} is the same patient`}
            />
          ))}
        </section>
      )}
      <div class="actions">
        <PostButton action="/console/patients/export" values={values} text="Export" kind="" />
        {isHeld ? (
          <PostButton action="/console/patients/release" values={values} text="Release the hold" />
        ) : (
          <PostButton action="/console/patients/hold" values={values} text="Keep (legal hold)" />
        )}
        <PostButton action="/console/patients/erase/preview" values={values} text="Erase …" />
      </div>
      <h2>What we store</h2>
      {deliveries.length > maxShown && (
        <p class="note">The newest {formatCount(maxShown)}; the export has all.</p>
      )}
      <Table
        label="Messages, newest first"
        rows={deliveries.toReversed().slice(0, maxShown)}
        columns={[
          {
            head: 'Event time',
            cell: ({ id, eventMs }) => <IdLink to="deliveries" id={id} at={new Date(eventMs)} />,
          },
          { head: 'Event', cell: ({ event }) => event },
          { head: 'Business', cell: ({ businessId }) => <Named kind="business" id={businessId} /> },
          { head: 'Received', cell: ({ receivedAt }) => <Moment at={new Date(receivedAt / 1000)} /> },
        ]}
      />
      <h2>Who has seen this patient</h2>
      <Entries entries={looks} />
    </>
  );
}

function ConfirmErasure(props: PatientProps & Preview & { keepMs: number }) {
  const { subjects, isHeld, callbacks, shared, mentions, keepMs } = props;
  const counts = Object.entries(callbacks).map(([name, count]) => [titled(name), formatCount(count)]);
  return (
    <>
      <PatientFacts {...props} />
      <p>
        What is personal in these messages is removed for good, and does not come back with a resend. Amounts
        and days stay.{' '}
        {keepMs > 0 && `A copy is kept for ${formatDuration(keepMs)} after it was received, then destroyed. `}
        {isHeld && 'There is a hold: the copies are kept until it is released. '}
        Nothing was changed yet.
      </p>
      <Facts facts={Object.fromEntries(counts)} />
      {shared.length > 0 && (
        <section class="warning">
          <h2>{formatCountOf(shared.length, ['message has', 'messages have'])} another id, too</h2>
          <p>If it is another patient’s, that patient loses them as well.</p>
          {shared.slice(0, maxShown).map((id) => (
            <p key={id}>
              <IdLink to="deliveries" id={id} />
            </p>
          ))}
        </section>
      )}
      <PostForm action="/console/patients/erase" values={valuesOf(subjects)} class="card" label="Erase">
        {mentions.length > 0 && (
          <p>These have an id as text. Look at each, and choose those of the patient, to erase them too:</p>
        )}
        {mentions.map(({ id, where }) => (
          <p key={id}>
            <input type="checkbox" name="also" value={id} aria-label={id} />{' '}
            <IdLink to={where === 'quarantine' ? where : 'deliveries'} id={id} />
          </p>
        ))}
        <Field
          name="confirm"
          label={`To confirm, the last four characters of ${idOf(subjects[0]!)}`}
          required
          autocomplete="off"
        />
        <div class="actions">
          <Submit kind="danger">Erase for good</Submit>
          <a href={hrefTo('/patients')}>Cancel</a>
        </div>
      </PostForm>
    </>
  );
}
