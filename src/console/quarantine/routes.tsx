import type { Request, Response } from 'express';
import { uuid } from '../../common/uuid.ts';
import { changeFields, replayCorrection } from '../../intake/correction.ts';
import { quarantineId } from '../../intake/quarantine.ts';
import { countQuarantine, dropQuarantine } from '../../intake/quarantine-rows.ts';
import type { FieldError } from '../../intake/rejection.ts';
import { patientsNamedIn } from '../../intake/subject-of-body.ts';
import { readNotes } from '../../store/notes.ts';
import type { Section } from '../dependencies.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import { addReplay } from '../problems/replay.tsx';
import { guid, localTime, readForm, text } from '../read-form.ts';
import { isEnough } from '../rights.ts';
import type { Visit } from '../ui/context.ts';
import { hrefTo, words } from '../ui/links.ts';
import { Outcome } from '../ui/outcome.tsx';
import { sendPage } from '../ui/page.tsx';
import { BodyPage, Corrected } from './body-page.tsx';
import type { Attempt } from './correction-form.tsx';
import { fieldsOfBody, readChanges } from './form.ts';
import { BodiesPage, bodies } from './pages.tsx';
import { listBodies, type QuarantinedBody, readBody } from './queries.ts';
import { previewBodies, readQuarantineForm, replayOfBodies } from './replay-bodies.ts';

/** How a rejected body is shown: with the values of personal fields, after an attempt, with errors found meanwhile. */
interface Showing {
  revealed?: boolean;
  attempt?: Attempt;
  errors?: FieldError[];
}

interface Correction extends Pick<Attempt, 'values' | 'text'> {
  body: Buffer;
  /** The paths of its changed fields. */
  changed: readonly string[];
  /** Those found on the way included. */
  errors?: FieldError[];
  revealed?: boolean;
}

/** Rejected bodies, their replay, deletion and correction: a preview first, then the action itself. */
export const section: Section = {
  addRoutes(routes, dependencies) {
    const { intake, families, timezone, db, logAccess } = dependencies;
    routes.get('/quarantine', 'viewer', async (req, res) => {
      const since = localTime(timezone);
      const { data, entered } = readForm(req.query, { reason: text, faults: text, before: guid, since });
      const { rows, more } = await listBodies(db, data);
      const older = more && hrefTo('/quarantine', { ...entered, before: rows.at(-1)?.id });
      const isNarrowed = Boolean(data.reason ?? data.faults ?? data.since);
      sendPage(res, 'Rejected bodies', <BodiesPage lines={rows} {...{ older, isNarrowed }} />);
    });

    routes.post(previewBodies, 'operator', async (req, res, next) => {
      if (req.body.action !== 'drop') return next();
      const { filter, entered } = readQuarantineForm(req.body, timezone);
      const values = { ...entered, asOf: String(Date.now()) };
      const count = bodies(await countQuarantine(db, filter));
      const drop = { action: '/console/quarantine/drop', values, kind: 'danger', text: `Drop ${count}` };
      const intro = `${count} would be deleted permanently. Unless the sender resends them, their data is lost.`;
      sendPage(res, 'Preview drop', <Outcome section="quarantine" isPreview intro={intro} next={drop} />);
    });
    addReplay(routes, dependencies, replayOfBodies(dependencies));

    routes.post('/quarantine/drop', 'operator', async (req, res) => {
      const { filter } = readQuarantineForm(req.body, timezone);
      const count = await db.transaction().execute(async (transaction) => {
        const rows = await dropQuarantine(transaction, filter);
        await logAccess(res, { action: 'quarantine drop', filter, rows }, transaction);
        return rows;
      });
      sendPage(res, 'Dropped', <Outcome section="quarantine" intro={`${bodies(count)} dropped.`} />);
    });

    const load = async (req: Request) => {
      const id = String(req.params.id);
      const body = uuid.test(id) ? await readBody(db, id) : undefined;
      if (!body) throw new PageNotFound('There is no such body in the quarantine.');
      return body;
    };
    const sendBody = async (
      res: Response,
      body: QuarantinedBody,
      { errors = body.errors, revealed = false, attempt }: Showing,
    ) => {
      if (revealed) {
        const filter = { quarantine: body.id };
        await logAccess(res, { action: 'body', patients: patientsNamedIn(body.body), filter, rows: 1 });
      }
      const fields = fieldsOfBody(body.body, errors, { families, revealed });
      const notes = await readNotes(db, body.id);
      const page = <BodyPage {...{ body, notes, fields, attempt, revealed }} />;
      sendPage(res, `Rejected: ${words(body.reason)}`, page, { status: attempt ? 422 : 200 });
    };

    routes.get('/quarantine/:id', 'viewer', async (req, res) => sendBody(res, await load(req), {}));
    routes.post('/quarantine/:id/personal', 'privacy', async (req, res) => {
      await sendBody(res, await load(req), { revealed: true });
    });

    /** Replays a corrected body, or shows why it is rejected, with what was entered. */
    const correct = async (
      res: Response,
      old: QuarantinedBody,
      { body, changed, errors, revealed = false, ...entered }: Correction,
    ) => {
      const reject = (attempt: Attempt) =>
        sendBody(res, old, { attempt: { ...attempt, ...entered }, revealed, ...(errors && { errors }) });
      if (old.replayed_at ?? old.corrected_by)
        throw new BadInput('This body was replayed or corrected before.');
      if (body.equals(old.body)) return reject({ message: 'Nothing was changed.' });
      const result = await replayCorrection(db, intake, old, body, () =>
        logAccess(res, {
          action: 'quarantine correct',
          patients: [...new Set([old.body, body].flatMap(patientsNamedIn))],
          filter: { quarantine: old.id, changed },
          rows: 1,
        }),
      );
      if (result.outcome === 'rejected') {
        const faults = Object.fromEntries(result.errors.map(({ path, message }) => [path, message]));
        return reject({ message: result.reason, faults });
      }
      const isStored = result.outcome !== 'expired' && result.outcome !== 'erased';
      const ids = { id: old.id, correction: quarantineId({ path: old.path, body }) };
      const delivery = isStored ? result.id : undefined;
      sendPage(res, 'Corrected and replayed', <Corrected {...{ ...ids, delivery }} />);
    };

    routes.post('/quarantine/:id/fields', 'operator', async (req, res) => {
      const old = await load(req);
      const values = req.body as Record<string, string>;
      const revealed = values.revealed === 'yes' && isEnough((res.locals.visit as Visit).role, 'privacy');
      let { errors } = old;
      for (;;) {
        const { faulty, others } = fieldsOfBody(old.body, errors, { families, revealed });
        const { changes, faults } = readChanges(values, revealed ? [...faulty, ...others] : faulty);
        if (Object.keys(faults).length > 0) {
          return sendBody(res, old, { attempt: { message: '', faults, values }, errors, revealed });
        }
        const changed = Object.keys(changes);
        const body = changed.length > 0 ? await changeFields(db, old.body, changes) : old.body;
        if (!body) throw new BadInput('PostgreSQL cannot read this body. Correct it as a whole.');
        // Without an earlier error, others are found: their fields can be corrected too.
        const assessed = await intake.replay(body, old.path, { dryRun: true });
        const found = assessed.outcome === 'rejected' ? assessed.errors : [];
        const further = found.filter(({ path }) => path && !errors.some((error) => error.path === path));
        errors = [...errors, ...further];
        if (further.some(({ path }) => values[path] !== undefined)) continue;
        return correct(res, old, { body, changed, values, errors, revealed });
      }
    });

    routes.post('/quarantine/:id/body', 'privacy', async (req, res) => {
      // A browser sends the lines of a text field with CRLF.
      const text = String(req.body.body ?? '').replaceAll('\r\n', '\n');
      await correct(res, await load(req), { body: Buffer.from(text), changed: ['body'], text });
    });
  },
};
