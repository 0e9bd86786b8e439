import type { Request, Response } from 'express';
import { z } from 'zod';
import {
  dropQuarantined,
  faultsOf,
  listQuarantine,
  type QuarantineLine,
  readQuarantined,
  replayQuarantined,
} from '../../callbacks/quarantine.ts';
import { hasContents, readableBody } from '../../callbacks/shown.ts';
import { uuid } from '../../common/uuid.ts';
import type { ReplayResult } from '../../receiver/intake/delivery.ts';
import { quarantineReasons } from '../../receiver/intake/rejection.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import type { Page } from '../page.ts';
import { reasonOfBody } from '../quarantine/reasons.ts';
import { choice, parseForm, readForm, text } from '../read-form.ts';
import { useMayPost, type Visit } from '../ui/context.ts';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { PostButton, PostForm, Submit } from '../ui/forms.tsx';
import { words } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { PersonalNote, ShowPersonal } from '../ui/personal.tsx';
import { Table } from '../ui/table.tsx';
import { Facts, formatCount, formatTimes, IdLink, Moment, Named, Verbatim } from '../ui/values.tsx';

const maxRows = 200;
type Body = NonNullable<Awaited<ReturnType<typeof readQuarantined>>>;

/** Bodies that were refused behind the access checks: look, correct, replay, drop. */
export const quarantine: Page = (routes, core) => {
  routes.get('/quarantine', 'viewer', async (req, res) => {
    const { aliases } = res.locals.visit as Visit;
    const shape = {
      reason: choice('Reason', quarantineReasons),
      business: text.meta({ label: 'Business', kind: 'business' }),
    };
    const { data, status, ...filter } = parseForm(req.query, shape, aliases);
    const rows = status === 200 ? await listQuarantine(core, data, maxRows) : [];
    sendPage(res, 'Rejected bodies', <List {...{ rows, filter }} />, { status });
  });

  const load = async (req: Request): Promise<Body> => {
    const id = String(req.params.id);
    const body = uuid.test(id) ? await readQuarantined(core, id) : undefined;
    if (!body) throw new PageNotFound('There is no such body in the quarantine.');
    return body;
  };
  const sendBody = async (res: Response, body: Body, revealed: boolean, attempt?: Attempt) => {
    const filter = { quarantine: body.id };
    if (revealed) await core.logAccess(res, { action: 'body', subjects: body.subjects, filter, rows: 1 });
    const page = <Detail {...{ body, revealed, attempt }} />;
    sendPage(res, `Rejected: ${words(body.reason)}`, page, { status: attempt ? 422 : 200 });
  };
  routes.get('/quarantine/:id', 'viewer', async (req, res) => sendBody(res, await load(req), false));
  routes.post('/quarantine/:id/personal', 'desk', async (req, res) => sendBody(res, await load(req), true));

  /** The ids that a form selects. */
  const idsIn = (form: unknown): string[] => {
    const { ids = '' } = readForm(form as Record<string, unknown>, {
      ids: z.string().max(40 * maxRows),
    }).data;
    const list = ids.split(',');
    if (!list.every((id) => uuid.test(id))) throw new BadInput('Choose the bodies.');
    return list;
  };
  routes.post('/quarantine/replay', 'operator', async (req, res) => {
    const ids = idsIn(req.body);
    await core.logAccess(res, { action: 'quarantine replay', filter: { ids }, rows: ids.length });
    const results = await replayQuarantined(core, ids);
    sendPage(res, 'Replayed', <Results results={results} />);
  });
  routes.post('/quarantine/drop', 'operator', async (req, res) => {
    const ids = idsIn(req.body);
    await core.logAccess(res, { action: 'quarantine drop', filter: { ids }, rows: ids.length });
    await dropQuarantined(core, ids);
    res.redirect(303, '/console/quarantine');
  });

  /** A corrected body is received in the place of a refused one, or the page says why it is refused too. */
  routes.post('/quarantine/:id/body', 'privacy', async (req, res) => {
    const old = await load(req);
    // A browser sends the lines of a text field with CRLF.
    const corrected = String(req.body.body ?? '').replaceAll('\r\n', '\n');
    const filter = { quarantine: old.id };
    await core.logAccess(res, { action: 'quarantine correct', subjects: old.subjects, filter, rows: 1 });
    const results = await replayQuarantined(core, [old.id], { corrected });
    const result = results.get(old.id);
    if (!result) throw new BadInput('This body was replayed before.');
    if (result.outcome === 'rejected')
      return sendBody(res, old, true, { reason: result.reason, text: corrected });
    sendPage(res, 'Replayed', <Results results={results} />);
  });
};

/** A correction that was refused, too. */
interface Attempt {
  reason: string;
  text: string;
}

function List({ rows, filter }: { rows: readonly QuarantineLine[]; filter: FilterForm }) {
  return (
    <>
      <Filters action="/console/quarantine" {...filter} folded />
      {rows.length > 0 && (
        <Actions ids={rows.map(({ id }) => id)} which={`these ${formatCount(rows.length)}`} />
      )}
      <Table
        label="Rejected bodies, the last received first"
        rows={rows}
        empty="No rejected bodies."
        columns={[
          {
            head: 'Last received',
            cell: ({ id, last_received_at: at }) => <IdLink to="quarantine" id={id} at={at} />,
          },
          { head: 'Reason', cell: ({ reason }) => words(reason) },
          { head: 'Errors', cell: faultsOf, wide: true },
          { head: 'Business', cell: ({ business_id }) => <Named kind="business" id={business_id} /> },
          { head: 'Received', cell: ({ count }) => formatTimes(count), numeric: true },
        ]}
      />
      {rows.length === maxRows && <p class="note">There may be more than these {maxRows}.</p>}
    </>
  );
}

function Actions({ ids, which = '' }: { ids: readonly string[]; which?: string }) {
  const values = { ids: ids.join() };
  if (!useMayPost('/console/quarantine/drop')) return null;
  return (
    <div class="actions">
      <PostButton action="/console/quarantine/replay" values={values} kind="second">
        Replay {which}
      </PostButton>
      <details>
        <summary>Drop {which} …</summary>
        <p>They are deleted for good. Unless the sender sends them again, their data is lost.</p>
        <PostButton action="/console/quarantine/drop" values={values} kind="danger">
          Drop {which}
        </PostButton>
      </details>
    </div>
  );
}

function Detail({
  body,
  revealed,
  attempt,
}: {
  body: Body;
  revealed: boolean;
  attempt: Attempt | undefined;
}) {
  const address = `/console/quarantine/${body.id}`;
  const received = body.body.toString();
  // A correction of what is shown would lose the rest.
  const mayCorrect = useMayPost(`${address}/body`) && !body.replayed_at && !hasContents(received);
  return (
    <>
      <Facts
        facts={{
          Reason: reasonOfBody(body.reason).meaning,
          Errors: faultsOf(body),
          Business: <Named kind="business" id={body.business_id} />,
          'First received': <Moment at={body.received_at} />,
          'Last received': <Moment at={body.last_received_at} />,
          Received: formatTimes(body.count),
          Acknowledged: body.acknowledged ? 'yes: the sender will not send it again' : undefined,
          Replayed: body.replayed_at ? <Moment at={body.replayed_at} /> : undefined,
        }}
      />
      {!body.replayed_at && <Actions ids={[body.id]} />}
      <div class="actions">
        <ShowPersonal {...{ revealed, address }} what="the body" />
      </div>
      {attempt && (
        <p class="warning" role="alert">
          It was refused, and nothing was changed: {attempt.reason}
        </p>
      )}
      <PersonalNote {...{ revealed, address }} takes="desk">
        The body ({formatCount(body.body.length)} bytes) may contain personal data.
      </PersonalNote>
      {revealed && !mayCorrect && <Verbatim label="The body" text={readableBody(received)} />}
      {revealed && mayCorrect && (
        <PostForm action={`${address}/body`} class="card">
          <label for="body">The body, to be corrected</label>
          <textarea id="body" name="body" rows={16} spellcheck={false}>
            {attempt?.text ?? received}
          </textarea>
          <div class="actions">
            <Submit>Replay this body</Submit>
          </div>
        </PostForm>
      )}
    </>
  );
}

function Results({ results }: { results: ReadonlyMap<string, ReplayResult> }) {
  return (
    <>
      <Table
        label="Results"
        rows={[...results]}
        empty="These bodies were replayed or dropped before."
        columns={[
          { head: 'Body', cell: ([id]) => <IdLink to="quarantine" id={id} /> },
          { head: 'Result', cell: ([, { outcome }]) => outcome },
          {
            head: 'Delivery, or why',
            cell: ([, one]) =>
              one.outcome === 'rejected' ? one.reason : <IdLink to="deliveries" id={one.id} />,
            wide: true,
          },
        ]}
      />
      <a href="/console/quarantine">Back to the rejected bodies</a>
    </>
  );
}
