import type { Request, Response } from 'express';
import { countQuarantine, dropQuarantine, type QuarantineFilter } from '../../intake/quarantine-rows.ts';
import { replayQuarantine } from '../../intake/replay-quarantine.ts';
import { patientsNamedIn } from '../../intake/subject-of-body.ts';
import { uuid } from '../../uuid.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { NotFound } from '../errors.ts';
import type { Routes } from '../guard.ts';
import { guid, readForm, text } from '../read-form.ts';
import { actorOf } from '../record-access.ts';
import { sendPage } from '../ui/page.tsx';
import { BodyPage } from './body-page.tsx';
import { ConfirmDrop, ConfirmReplay, DropDone, ReplayDone } from './confirm-pages.tsx';
import { readQuarantineForm } from './form.ts';
import { QuarantinePage } from './pages.tsx';
import { listBodies, readBody, readQuarantineGroups } from './queries.ts';

/** A page has to be sent before the browser, or a proxy in between, gives up. */
const limit = 1_000;
const section = 'quarantine';
const back = true;

/** Rejected bodies, and their replay or deletion: a preview first, then the action itself. */
export function addQuarantine(routes: Routes, { intake, timezone, db, record }: RouteDependencies): void {
  routes.get('/quarantine', async (req, res) => {
    const { data, entered } = readForm(req.query, { reason: text, faults: text, before: guid });
    const [groups, { rows, more }] = await Promise.all([readQuarantineGroups(db), listBodies(db, data)]);
    const next = new URLSearchParams({ ...entered, before: rows.at(-1)?.id ?? '' });
    const older = more && `/console/quarantine?${next}`;
    const isNarrowed = Boolean(data.reason ?? data.faults);
    const page = <QuarantinePage groups={groups} lines={rows} older={older} isNarrowed={isNarrowed} />;
    sendPage(res, { title: 'Quarantine', section }, page);
  });

  const replay = async (filter: QuarantineFilter, dryRun: boolean) => ({
    matching: await countQuarantine(db, filter),
    ...(await replayQuarantine(db, filter, intake, { dryRun, limit })),
  });

  routes.post('/quarantine/preview', async (req, res) => {
    const { filter, entered } = readQuarantineForm(req.body, timezone);
    if (req.body.action === 'drop') {
      const asOf = String(Date.now());
      const count = await countQuarantine(db, filter);
      const page = { title: 'Preview drop', section, back } as const;
      sendPage(res, page, <ConfirmDrop count={count} values={{ ...entered, asOf }} />);
    } else {
      const page = { title: 'Preview replay', section, back } as const;
      sendPage(res, page, <ConfirmReplay outcome={await replay(filter, true)} values={entered} />);
    }
  });

  routes.post('/quarantine/replay', async (req, res) => {
    const { filter } = readQuarantineForm(req.body, timezone);
    const rows = Math.min(await countQuarantine(db, filter), limit);
    await record({ actor: actorOf(res), action: 'quarantine replay', filter, rows });
    const outcome = await replay(filter, false);
    sendPage(res, { title: 'Replayed', section, back }, <ReplayDone outcome={outcome} />);
  });

  routes.post('/quarantine/drop', async (req, res) => {
    const { filter } = readQuarantineForm(req.body, timezone);
    const count = await db.transaction().execute(async (transaction) => {
      const rows = await dropQuarantine(transaction, filter);
      await record({ actor: actorOf(res), action: 'quarantine drop', filter, rows }, transaction);
      return rows;
    });
    sendPage(res, { title: 'Dropped', section, back }, <DropDone count={count} />);
  });

  const show = async (req: Request, res: Response, revealed: boolean) => {
    const id = String(req.params.id);
    const body = uuid.test(id) ? await readBody(db, id) : undefined;
    if (!body) throw new NotFound('There is no such body in the quarantine.');
    if (revealed) {
      const patients = patientsNamedIn(body.body);
      const filter = { quarantine: body.id };
      await record({ actor: actorOf(res), action: 'body', patients, filter, rows: 1 });
    }
    const page = { title: `Rejected: ${body.reason.replaceAll('_', ' ')}`, section, back } as const;
    sendPage(res, page, <BodyPage body={body} revealed={revealed} />);
  };
  routes.get('/quarantine/:id', (req, res) => show(req, res, false));
  routes.post('/quarantine/:id/personal', (req, res) => show(req, res, true));
}
