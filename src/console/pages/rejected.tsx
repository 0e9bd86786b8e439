import type { Request, Response } from 'express';
import { canonicalJson, withDecimals } from '../../callbacks/exact-json.ts';
import type { Family } from '../../callbacks/families/family.ts';
import { families } from '../../callbacks/families/index.ts';
import type { FieldError } from '../../callbacks/rejection.ts';
import { titled, uuid } from '../../common/words.ts';
import { type Cause, maxProblems } from '../../inbox/causes.ts';
import { hasContents, readableBody } from '../../inbox/mask.ts';
import {
  dropQuarantined,
  listQuarantine,
  type Quarantined,
  readQuarantined,
  replayQuarantined,
} from '../../inbox/replay.ts';
import { reasons } from '../lists/wording.ts';
import { BadInput, hasRole, type Page, PageNotFound } from '../page.ts';
import { cause as causeHash, readForm } from '../read-form.ts';
import { hrefTo, useMay } from '../ui/context.ts';
import { PostButton, PostForm } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Badge, Facts, formatCountOf, formatTimes, Moment, Named, Verbatim } from '../ui/values.tsx';

/** Messages that one request tries again; each is stored by itself. */
const maxTried = 500;

/** Messages that were not accepted: what is wrong with each, its correction, another try. */
export const rejected: Page = (routes, core) => {
  const { db, logAccess } = core;
  const load = async (req: Request): Promise<Quarantined> => {
    const id = String(req.params.id);
    const message = uuid.test(id) ? await readQuarantined(core, id) : undefined;
    if (!message) throw new PageNotFound('There is no such message: it was deleted, or never rejected.');
    return message;
  };
  const send = async (res: Response, message: Quarantined, attempt?: Attempt) => {
    const { id, subjects, replayed_at: accepted } = message;
    if (hasRole(res, 'desk'))
      await logAccess(res, { action: 'body', subjects, filter: { quarantine: id }, rows: 1 });
    const bar = (
      <>
        <Badge state={accepted ? 'applied' : 'rejected'}>{accepted ? 'Accepted since' : 'Rejected'}</Badge>
        <span class="right">
          {!accepted && (
            <PostButton action={`/console/rejected/${id}/again`} least="operator" text="Try again" />
          )}
        </span>
      </>
    );
    const status = attempt ? 422 : 200;
    sendPage(res, eventOf(message), <Detail {...{ message, attempt }} />, { status, bar });
  };
  routes.get('/rejected/:id', 'viewer', async (req, res) => send(res, await load(req)));

  const tryAgain = async (req: Request, res: Response, corrected?: string) => {
    const message = await load(req);
    const { id, subjects } = message;
    const action = corrected === undefined ? 'quarantine replay' : 'quarantine correct';
    await logAccess(res, { action, subjects, filter: { quarantine: id }, rows: 1 });
    const result = (await replayQuarantined(core, [id], { corrected })).get(id);
    if (!result) throw new BadInput('This message was accepted before.');
    if (result.outcome === 'rejected') return send(res, message, { reason: result.reason, corrected });
    if (result.outcome === 'expired')
      throw new BadInput('It is older than what is kept of its kind: see RETENTION.');
    res.redirect(303, `/console/callbacks/${result.id}`);
  };
  routes.post('/rejected/:id/again', 'operator', (req, res) => tryAgain(req, res));
  // A browser sends the lines of a text field with CRLF.
  routes.post('/rejected/:id/corrected', 'privacy', (req, res) =>
    tryAgain(req, res, String(req.body.message ?? '').replaceAll('\r\n', '\n')),
  );

  routes.post('/rejected/again', 'operator', async (req, res) => {
    const { cause } = readForm(req.body, { cause: causeHash });
    if (!cause) throw new BadInput('The cause is missing.');
    const found = await listQuarantine(db, { cause }, maxProblems);
    const ids = found.slice(0, maxTried).map(({ id }) => id);
    await logAccess(res, { action: 'quarantine replay', filter: { cause }, rows: ids.length });
    const results = [...(await replayQuarantined(core, ids)).values()];
    const refused = results.filter(({ outcome }) => outcome === 'rejected' || outcome === 'expired').length;
    const counts = { accepted: results.length - refused, refused, left: found.length - ids.length };
    const done = Object.entries(counts).map(([name, count]) => [name, `${count}`]);
    res.redirect(303, hrefTo('/callbacks', Object.fromEntries(done)));
  });

  routes.post('/rejected/:id/delete', 'operator', async (req, res) => {
    const { id, subjects } = await load(req);
    await logAccess(res, { action: 'quarantine drop', subjects, filter: { quarantine: id }, rows: 1 });
    await dropQuarantined(db, [id]);
    res.redirect(303, '/console/rejected');
  });
};

/** An undocumented word may be personal: its kind of record is named in its place. */
export function eventOf({ event, family }: Pick<Quarantined, 'event' | 'family'>): string {
  const isKnown = event && (families as readonly Family[]).some(({ events }) => Object.hasOwn(events, event));
  return isKnown ? event : titled(family);
}

const describeFault = ({ path, message }: FieldError): string =>
  `${path
    .slice(1)
    .replace(/^data\//, '')
    .replaceAll('/', '.')} ${message}`.trim();

/** What is wrong with a message, in a line. */
export function describeFaults({ reason, errors }: Pick<Cause, 'reason' | 'errors'>): string {
  const [first, ...others] = errors;
  if (!first) return reason ? reasons[reason] : '';
  return others.length > 0 ? `${describeFault(first)}, and ${others.length} more` : describeFault(first);
}

interface Attempt {
  reason: string;
  corrected: string | undefined;
}

function Detail({ message, attempt }: { message: Quarantined; attempt: Attempt | undefined }) {
  const address = `/console/rejected/${message.id}`;
  const received = message.body.toString();
  const maySee = useMay('desk');
  // A correction of what is shown would lose the rest.
  const mayCorrect = useMay('privacy') && !message.replayed_at && !hasContents(received);
  return (
    <>
      {attempt && (
        <p class="warning" role="alert">
          It was rejected again, and nothing was changed: {attempt.reason}
        </p>
      )}
      <Facts
        facts={{
          Reason: reasons[message.reason],
          'What is wrong': message.errors.map((error, index) => (
            <div key={index}>{describeFault(error)}</div>
          )),
          Business: <Named kind="business" id={message.business_id} />,
          Received: <Moment at={message.received_at} exact />,
          Times:
            message.count > 1 ? (
              <>
                {formatTimes(message.count)}, the last at <Moment at={message.last_received_at} exact />
              </>
            ) : undefined,
          Acknowledged: message.acknowledged ? 'yes: the sender will not send it again' : undefined,
          Accepted: message.replayed_at ? <Moment at={message.replayed_at} exact /> : undefined,
        }}
      />
      <h2>Message</h2>
      {!maySee && (
        <p class="note">
          {formatCountOf(message.body.length, ['byte', 'bytes'])}. It may name a patient: reading it takes the
          role desk.
        </p>
      )}
      {maySee && !mayCorrect && <Verbatim label="Message" text={readableBody(received)} />}
      {mayCorrect && (
        <PostForm action={`${address}/corrected`} least="privacy">
          <label class="unseen" for="message">
            The message, to be corrected
          </label>
          <textarea id="message" name="message" rows={20} spellcheck={false}>
            {attempt?.corrected ?? indented(received)}
          </textarea>
          <button type="submit" class="main">
            Save and try again
          </button>
        </PostForm>
      )}
      {useMay('operator') && (
        <details>
          <summary>Delete this message</summary>
          <p>It is gone for good, and cannot be tried again.</p>
          <PostButton action={`${address}/delete`} least="operator" kind="bad" text="Delete for good" />
        </details>
      )}
    </>
  );
}

/** JSON with a line for each value, unless a number would lose digits. */
function indented(json: string): string {
  try {
    const text = JSON.stringify(JSON.parse(json), null, 2);
    const [before, after] = [json, text].map((one) => canonicalJson(withDecimals(one, JSON.parse(one))));
    return before === after ? text : json;
  } catch {
    return json;
  }
}
