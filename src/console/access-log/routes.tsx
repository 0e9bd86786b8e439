import { z } from 'zod';
import { accessActions } from '../../privacy/log/access-log.ts';
import { listAccess, patientBehind, pseudonymOf } from '../../privacy/log/audit.ts';
import { takePage } from '../../store/read.ts';
import type { Section } from '../dependencies.ts';
import { readPatient } from '../patients/read-patient.ts';
import { choice, localTime, parseForm, readForm, text } from '../read-form.ts';
import { Filters } from '../ui/filters.tsx';
import { EntryForm } from '../ui/forms.tsx';
import { hrefTo } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { PageLinks } from '../ui/table.tsx';
import { Entries } from './entries.tsx';

const size = 50;
const pseudonym = z.string().regex(/^[\da-f]{64}$/, 'Unknown patient.');

export const section: Section = {
  addRoutes(routes, dependencies) {
    const { timezone, db, logAccess } = dependencies;
    const shape = {
      actor: text.meta({ label: 'Person' }),
      action: choice('Action', accessActions),
      since: localTime(timezone, 'From'),
      until: localTime(timezone, 'Before'),
      about: pseudonym,
    };
    routes.get('/access-log', 'privacy', async (req, res) => {
      const { data, status, ...shown } = parseForm(req.query, shape);
      const { data: place } = readForm(req.query, { before: z.coerce.number().int().positive() });
      const { about, ...rest } = { ...data, ...place };
      const listed =
        status === 200
          ? takePage(await listAccess(db, { ...rest, pseudonym: about }, size + 1), size)
          : undefined;
      const patient = about && (await patientBehind(db, about));
      const patients = patient ? [patient] : [];
      const filter = about ? { ...rest, about: about.slice(0, 8) } : rest;
      if (listed) await logAccess(res, { action: 'audit', patients, filter, rows: listed.rows.length });
      const last = listed?.more && listed.rows.at(-1);
      const page = (
        <>
          <p>
            Who saw or did what. Entries cannot be changed; reading them is an entry too.{' '}
            <a href="/console/sessions">Sessions</a> lists who may be signed in, and ends their sessions.
          </p>
          {about ? (
            <p class="note">
              Only entries about the patient {patient ?? `erased ${about.slice(0, 8)}`}.{' '}
              <a href="/console/access-log">All entries</a>
            </p>
          ) : (
            <EntryForm
              action="/console/access-log"
              fields={[{ name: 'patient', label: 'Who looked at the patient (id)', autocomplete: 'off' }]}
              submit="Find"
              kind="second"
            />
          )}
          <Filters action="/console/access-log" {...shown} hidden={{ about }} />
          {listed && <Entries entries={listed.rows} />}
          <PageLinks older={last && hrefTo('/access-log', { ...shown.entered, before: `${last.entry}` })} />
        </>
      );
      sendPage(res, 'Access log', page, { status });
    });

    // Ids of patients are posted, so that an address has the pseudonym alone.
    routes.post('/access-log', 'privacy', async (req, res) => {
      const { id } = await readPatient(dependencies, req.body);
      res.redirect(303, hrefTo('/access-log', { about: await pseudonymOf(db, id) }));
    });
  },
};
