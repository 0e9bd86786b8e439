import type { Request, Response } from 'express';
import { type QuarantineReason, quarantineReasons } from '../../callbacks/rejection.ts';
import { uuid, words } from '../../common/words.ts';
import { hasContents, readableBody } from '../../inbox/mask.ts';
import {
  dropQuarantined,
  faultsOf,
  listQuarantine,
  type QuarantinedBody,
  readQuarantined,
  replayQuarantined,
} from '../../inbox/replay.ts';
import { BadInput, type Page, PageNotFound } from '../page.ts';
import { choice, type Form, parseForm, text } from '../read-form.ts';
import { useMayPost, visitOf } from '../ui/context.ts';
import { Filters } from '../ui/filters.tsx';
import { PersonalNote, PostButton, PostForm, ShowPersonal, Submit } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Table } from '../ui/table.tsx';
import { Facts, formatCount, formatTimes, IdLink, Moment, Named, Verbatim } from '../ui/values.tsx';

const maxRows = 200;
type Body = NonNullable<Awaited<ReturnType<typeof readQuarantined>>>;

export const quarantine: Page = (routes, core) => {
  routes.get('/quarantine', 'viewer', async (req, res) => {
    const { aliases } = visitOf(res);
    const shape = {
      reason: choice('Reason', quarantineReasons),
      business: text.meta({ label: 'Business', kind: 'business' }),
    };
    const { data, status, ...filter } = parseForm(req.query, shape, aliases);
    const rows = status === 200 ? await listQuarantine(core.db, data, maxRows) : [];
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

  const replay = async (req: Request, res: Response, corrected?: string) => {
    const body = await load(req);
    const { id, subjects } = body;
    const action = corrected === undefined ? 'quarantine replay' : 'quarantine correct';
    await core.logAccess(res, { action, subjects, filter: { quarantine: id }, rows: 1 });
    const result = (await replayQuarantined(core, [id], { corrected })).get(id);
    if (!result) throw new BadInput('This body was replayed before.');
    if (result.outcome === 'rejected')
      return sendBody(res, body, corrected !== undefined, { reason: result.reason, corrected });
    if (result.outcome === 'expired')
      throw new BadInput('It is older than what its family keeps: see RETENTION.');
    res.redirect(303, `/console/deliveries/${result.id}`);
  };
  routes.post('/quarantine/:id/replay', 'operator', (req, res) => replay(req, res));
  // A browser sends the lines of a text field with CRLF.
  routes.post('/quarantine/:id/body', 'privacy', (req, res) =>
    replay(req, res, String(req.body.body ?? '').replaceAll('\r\n', '\n')),
  );

  routes.post('/quarantine/:id/drop', 'operator', async (req, res) => {
    const { id, subjects } = await load(req);
    await core.logAccess(res, { action: 'quarantine drop', subjects, filter: { quarantine: id }, rows: 1 });
    await dropQuarantined(core.db, [id]);
    res.redirect(303, '/console/quarantine');
  });
};

interface Attempt {
  reason: string;
  corrected: string | undefined;
}

interface DetailProps {
  body: Body;
  revealed: boolean;
  attempt: Attempt | undefined;
}

function List({ rows, filter }: { rows: readonly QuarantinedBody[]; filter: Form }) {
  return (
    <>
      <Filters action="/console/quarantine" {...filter} folded />
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
      {rows.length > 0 && (
        <p class="note">
          At most {maxRows} are listed. To replay many: <code>receiver quarantine replay</code>
        </p>
      )}
    </>
  );
}

function Detail({ body, revealed, attempt }: DetailProps) {
  const address = `/console/quarantine/${body.id}`;
  const received = body.body.toString();
  // A correction of what is shown would lose the rest.
  const mayCorrect = useMayPost(`${address}/body`) && !body.replayed_at && !hasContents(received);
  return (
    <>
      <Facts
        facts={{
          Reason: meanings[body.reason] ?? body.reason,
          Errors: faultsOf(body),
          Business: <Named kind="business" id={body.business_id} />,
          'First received': <Moment at={body.received_at} />,
          'Last received': <Moment at={body.last_received_at} />,
          Received: formatTimes(body.count),
          Acknowledged: body.acknowledged ? 'yes: the sender will not send it again' : undefined,
          Replayed: body.replayed_at ? <Moment at={body.replayed_at} /> : undefined,
        }}
      />
      <div class="actions">
        {!body.replayed_at && <PostButton action={`${address}/replay`} text="Replay" />}
        <PostButton action={`${address}/drop`} kind="danger" text="Drop for good" />
        <ShowPersonal {...{ revealed, address }} what="the body" />
      </div>
      {attempt && (
        <p class="warning" role="alert">
          It was refused, and nothing was changed: {attempt.reason}
        </p>
      )}
      <PersonalNote {...{ revealed, address }}>
        The body ({formatCount(body.body.length)} bytes) may contain personal data.
      </PersonalNote>
      {revealed && !mayCorrect && <Verbatim label="The body" text={readableBody(received)} />}
      {revealed && mayCorrect && (
        <PostForm action={`${address}/body`} class="card">
          <label for="body">The body, to be corrected</label>
          <textarea id="body" name="body" rows={16} spellcheck={false}>
            {attempt?.corrected ?? received}
          </textarea>
          <div class="actions">
            <Submit>Replay this body</Submit>
          </div>
        </PostForm>
      )}
    </>
  );
}

const meanings: Readonly<Record<string, string>> = {
  not_json: 'The body is not JSON.',
  unsupported_media: 'The body was not sent as JSON in UTF-8.',
  invalid: 'A field is missing or has another type, or the event is unknown.',
  wrong_family: 'The event belongs to another path.',
  refused_by_database: 'PostgreSQL cannot store the data.',
} satisfies Record<QuarantineReason, string>;
