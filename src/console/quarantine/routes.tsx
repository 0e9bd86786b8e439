import type { Request, Response } from 'express';
import { uuid } from '../../common/uuid.ts';
import { replayCorrection } from '../../intake/correction.ts';
import { listQuarantine, type QuarantinedBody, readQuarantined } from '../../intake/list-quarantine.ts';
import { countQuarantine, dropQuarantine } from '../../intake/quarantine-rows.ts';
import { patientsNamedIn } from '../../intake/subject-of-body.ts';
import type { Section } from '../dependencies.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import { addReplay } from '../problems/replay.tsx';
import { guid, parseForm, readForm } from '../read-form.ts';
import { words } from '../ui/links.ts';
import { Outcome, sections } from '../ui/outcome.tsx';
import { sendPage } from '../ui/page.tsx';
import { Facts, formatCountOf, IdLink } from '../ui/values.tsx';
import { type Attempt, BodyPage } from './body-page.tsx';
import { BodiesPage } from './pages.tsx';
import { filterOf, readSelection, replayOfBodies } from './replay-bodies.ts';

const pageRows = 50;

/** Rejected bodies, their replay, deletion and correction: a preview first, then the action itself. */
export const section: Section = {
  addRoutes(routes, dependencies) {
    const { intake, timezone, db, logAccess } = dependencies;
    const replay = replayOfBodies(dependencies);
    const bodies = (count: number) => formatCountOf(count, sections.quarantine.rows);

    routes.get('/quarantine', 'viewer', async (req, res) => {
      const { data, status, ...filter } = parseForm(req.query, filterOf(timezone));
      const { before } = readForm(req.query, { before: guid }).data;
      const listed = status === 200 ? await listQuarantine(db, data, pageRows, before) : undefined;
      sendPage(res, 'Rejected bodies', <BodiesPage {...{ listed, filter }} />, { status });
    });

    routes.post(replay.preview, 'operator', async (req, res, next) => {
      if (req.body.action !== 'drop') return next();
      const { filter, entered } = readSelection(req.body, timezone);
      const values = { ...entered, asOf: String(Date.now()) };
      const count = bodies(await countQuarantine(db, filter));
      const drop = { action: '/console/quarantine/drop', values, kind: 'danger', text: `Drop ${count}` };
      const intro = `${count} would be deleted permanently. Unless the sender resends them, their data is lost.`;
      sendPage(res, 'Preview drop', <Outcome section="quarantine" isPreview intro={intro} next={drop} />);
    });
    addReplay(routes, dependencies, replay);

    routes.post('/quarantine/drop', 'operator', async (req, res) => {
      const { filter } = readSelection(req.body, timezone);
      const count = await db.transaction().execute(async (transaction) => {
        const rows = await dropQuarantine(transaction, filter);
        await logAccess(res, { action: 'quarantine drop', filter, rows }, transaction);
        return rows;
      });
      sendPage(res, 'Dropped', <Outcome section="quarantine" intro={`${bodies(count)} dropped.`} />);
    });

    const load = async (req: Request) => {
      const id = String(req.params.id);
      const body = uuid.test(id) ? await readQuarantined(db, id) : undefined;
      if (!body) throw new PageNotFound('There is no such body in the quarantine.');
      return body;
    };
    const sendBody = async (res: Response, body: QuarantinedBody, revealed: boolean, attempt?: Attempt) => {
      if (revealed) {
        const filter = { quarantine: body.id };
        await logAccess(res, { action: 'body', patients: patientsNamedIn(body.body), filter, rows: 1 });
      }
      const page = <BodyPage {...{ body, attempt, revealed }} />;
      sendPage(res, `Rejected: ${words(body.reason)}`, page, { status: attempt ? 422 : 200 });
    };

    routes.get('/quarantine/:id', 'viewer', async (req, res) => sendBody(res, await load(req), false));
    routes.post('/quarantine/:id/personal', 'privacy', async (req, res) =>
      sendBody(res, await load(req), true),
    );

    /** Replays a corrected body in the place of a rejected one, or shows why it is rejected. */
    routes.post('/quarantine/:id/body', 'privacy', async (req, res) => {
      // A browser sends the lines of a text field with CRLF.
      const text = String(req.body.body ?? '').replaceAll('\r\n', '\n');
      const body = Buffer.from(text);
      const old = await load(req);
      const reject = (message: string, errors: Attempt['errors'] = []) =>
        sendBody(res, old, true, { text, message, errors });
      if (old.replayed_at ?? old.corrected_by)
        throw new BadInput('This body was replayed or corrected before.');
      if (body.equals(old.body)) return reject('Nothing was changed.');
      const result = await replayCorrection(db, intake, old, body, () =>
        logAccess(res, {
          action: 'quarantine correct',
          patients: [...new Set([old.body, body].flatMap(patientsNamedIn))],
          filter: { quarantine: old.id },
          rows: 1,
        }),
      );
      if (result.outcome === 'rejected') return reject(result.reason, result.errors);
      const isStored = result.outcome !== 'expired' && result.outcome !== 'erased';
      const intro = isStored
        ? 'The corrected body was accepted; the worker applies its delivery.'
        : 'The corrected body is valid, and was not stored: it is about something that was erased, or is past its retention.';
      const page = (
        <Outcome section="quarantine" intro={intro}>
          <Facts
            facts={{
              'Rejected body': <IdLink to="quarantine" id={old.id} />,
              Delivery: isStored ? <IdLink to="deliveries" id={result.id} /> : undefined,
            }}
          />
        </Outcome>
      );
      sendPage(res, 'Corrected and replayed', page);
    });
  },
};
