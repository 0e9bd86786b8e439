import type { Request, Response } from 'express';
import type { ComponentChildren } from 'preact';
import type { Family } from '../../callbacks/families/family.ts';
import { families as documented } from '../../callbacks/families/index.ts';
import type { FieldError } from '../../callbacks/rejection.ts';
import { titled, uuid } from '../../common/words.ts';
import type { Cause } from '../../inbox/causes.ts';
import { readDelivery, replayDeliveries, type StoredDelivery } from '../../inbox/list-deliveries.ts';
import { readableBody } from '../../inbox/mask.ts';
import { hasPublicKey } from '../../inbox/read-record.ts';
import { dropQuarantined, type Quarantined, readQuarantined, replayQuarantined } from '../../inbox/replay.ts';
import type { Access } from '../../receiver/store/log-access.ts';
import { reasons } from '../lists/wording.ts';
import { BadInput, hasRole, type Page, PageNotFound } from '../page.ts';
import { hrefTo } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Badge, Facts, formatTimes, Moment, Named, Verbatim } from '../ui/values.tsx';
import { RecordLink } from './records.tsx';

/** A message on its page: a callback that is stored, or one that was rejected. */
interface Message {
  title: string;
  state: ComponentChildren;
  facts: Record<string, ComponentChildren>;
  /** Its entry in the access log. */
  entry: Omit<Access, 'actor'>;
  /** Undefined: it may not be tried again. */
  again: string | undefined;
  text: ComponentChildren;
}

/** One message: what it says, what is wrong with it, another try. */
export const messages: Page = (routes, core) => {
  const { db, families, logAccess } = core;
  const send = async (res: Response, message: Message, warning?: string) => {
    const { title, state, facts, entry, again, text } = message;
    const maySee = hasRole(res, 'desk');
    if (maySee) await logAccess(res, { ...entry, rows: 1 });
    const bar = (
      <>
        {state}
        <span class="right">{again && <PostButton action={again} least="operator" text="Try again" />}</span>
      </>
    );
    const content = (
      <>
        {warning && (
          <p class="warning" role="alert">
            It was rejected again, and nothing was changed: {warning}
          </p>
        )}
        <Facts facts={facts} />
        <h2>Message</h2>
        {!maySee && <p class="note">Names and what else is personal are hidden: they take the role desk.</p>}
        {text}
      </>
    );
    sendPage(res, title, content, { status: warning ? 422 : 200, bar });
  };

  routes.get('/callbacks/:id', 'viewer', async (req, res) => {
    const id = String(req.params.id);
    const delivery = await readDelivery(core, id);
    if (!delivery) return res.redirect(303, hrefTo(`/rejected/${id}`));
    const family = families.find(({ name }) => name === delivery.family);
    return send(res, describeStored(delivery, family, hasRole(res, 'desk')));
  });
  routes.post('/callbacks/:id/again', 'operator', async (req, res) => {
    const id = String(req.params.id);
    if (!uuid.test(id)) throw new PageNotFound('There is no such callback.');
    await logAccess(res, { action: 'replay', filter: { delivery: id } });
    await replayDeliveries(db, { ids: [id] });
    res.redirect(303, hrefTo(`/callbacks/${id}`));
  });

  const load = async (req: Request): Promise<Quarantined> => {
    const id = String(req.params.id);
    const message = uuid.test(id) ? await readQuarantined(core, id) : undefined;
    if (!message)
      throw new PageNotFound('There is no such message: it never came, or it was erased or deleted.');
    return message;
  };
  routes.get('/rejected/:id', 'viewer', async (req, res) =>
    send(res, describeRejected(await load(req), res)),
  );
  routes.post('/rejected/:id/again', 'operator', async (req, res) => {
    const message = await load(req);
    const { id, subjects } = message;
    await logAccess(res, { action: 'quarantine replay', subjects, filter: { quarantine: id }, rows: 1 });
    const result = (await replayQuarantined(core, [id])).get(id);
    if (!result) throw new BadInput('This message was accepted before.');
    if (result.outcome === 'expired')
      throw new BadInput('It is older than what is kept of its kind: see RETENTION.');
    if (result.outcome !== 'rejected') return res.redirect(303, hrefTo(`/callbacks/${result.id}`));
    return send(res, describeRejected(message, res), result.reason);
  });
  routes.post('/rejected/:id/delete', 'operator', async (req, res) => {
    const { id, subjects } = await load(req);
    await logAccess(res, { action: 'quarantine drop', subjects, filter: { quarantine: id }, rows: 1 });
    await dropQuarantined(db, [id]);
    res.redirect(303, hrefTo('/rejected'));
  });
};

interface Arrival {
  business_id: string | null;
  received_at: Date;
  last_received_at: Date;
}

const arrivalOf = ({ business_id, received_at, last_received_at }: Arrival, times: number) => ({
  Business: <Named kind="business" id={business_id} />,
  Received: <Moment at={received_at} exact />,
  'Received again':
    times > 1 ? (
      <>
        {formatTimes(times - 1)}, the last at <Moment at={last_received_at} exact />
      </>
    ) : undefined,
});

function describeStored(delivery: StoredDelivery, family: Family | undefined, maySee: boolean): Message {
  const { id, event, status, subjects, error, body, isReduced, business_id: businessId } = delivery;
  const recordId = family && hasPublicKey(family) ? delivery.record_id : id;
  return {
    title: event,
    state: <Badge state={status === 'received' ? 'waiting' : status} />,
    facts: {
      Record: family && <RecordLink {...{ family, businessId }} id={recordId} row={null} />,
      Error: error ?? undefined,
      Erasure: isReduced ? 'What was personal is erased.' : undefined,
      Client: delivery.client_id,
      Happened: <Moment at={delivery.event_time} exact />,
      ...arrivalOf(delivery, delivery.delivery_count),
      Id: id,
    },
    entry: { action: 'reveal', subjects, filter: { delivery: id } },
    again: hrefTo(`/callbacks/${id}/again`),
    text: <Verbatim label="Message" text={readableBody(body, maySee ? undefined : { family })} />,
  };
}

function describeRejected(message: Quarantined, res: Response): Message {
  const { id, reason, errors, subjects, acknowledged, replayed_at: accepted } = message;
  return {
    title: eventOf(message),
    state: (
      <Badge state={accepted ? 'applied' : 'rejected'}>{accepted ? 'Accepted since' : 'Rejected'}</Badge>
    ),
    facts: {
      Reason: reasons[reason],
      'What is wrong': errors.map((error, index) => <div key={index}>{describeFault(error)}</div>),
      ...arrivalOf(message, message.count),
      Acknowledged: acknowledged ? 'yes: the sender will not send it again' : undefined,
      Accepted: accepted ? <Moment at={accepted} exact /> : undefined,
    },
    entry: { action: 'body', subjects, filter: { quarantine: id } },
    again: accepted ? undefined : hrefTo(`/rejected/${id}/again`),
    text: (
      <>
        {hasRole(res, 'desk') && <Verbatim label="Message" text={readableBody(message.body.toString())} />}
        {hasRole(res, 'operator') && (
          <details>
            <summary>Delete this message</summary>
            <p>It is gone for good, and cannot be tried again.</p>
            <PostButton
              action={hrefTo(`/rejected/${id}/delete`)}
              least="operator"
              kind="bad"
              text="Delete for good"
            />
          </details>
        )}
      </>
    ),
  };
}

/** An undocumented word may be personal: its kind of record is named in its place. */
export function eventOf({ event, family }: Pick<Quarantined, 'event' | 'family'>): string {
  const isKnown =
    event && (documented as readonly Family[]).some(({ events }) => Object.hasOwn(events, event));
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
