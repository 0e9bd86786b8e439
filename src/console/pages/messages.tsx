import type { Request, Response } from 'express';
import type { ComponentChildren } from 'preact';
import type { Family } from '../../callbacks/families/family.ts';
import { readableBody } from '../../callbacks/health-contents.ts';
import type { FieldError } from '../../callbacks/rejection.ts';
import { titled, uuid } from '../../common/words.ts';
import type { Cause } from '../../inbox/causes.ts';
import {
  readDelivery,
  readStatuses,
  replayDeliveries,
  type StoredDelivery,
} from '../../inbox/list-deliveries.ts';
import { hasPublicKey } from '../../inbox/read-record.ts';
import { type Quarantined, readQuarantined, replayQuarantined } from '../../inbox/replay.ts';
import type { Access } from '../../receiver/store/log-access.ts';
import { familyTitles } from '../lists/system-lists.ts';
import { reasons } from '../lists/wording.ts';
import { BadInput, hasRole, type Page, PageNotFound } from '../page.ts';
import { oneOf, readForm } from '../read-form.ts';
import { hrefTo } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { Badge, Facts, formatCount, formatTimes, Moment, Named } from '../ui/values.tsx';
import { RecordLink } from './records.tsx';

/** A message on its page: a callback that is stored, or one that was rejected. */
interface Message {
  title: string;
  state: ComponentChildren;
  facts: Record<string, ComponentChildren>;
  entry: Omit<Access, 'actor'>;
  /** Undefined: it may not be tried again. */
  again: string | undefined;
  text: string;
}

/** One message: what it says, what is wrong with it, another try. */
export const messages: Page = (routes, core) => {
  const { db, families, logAccess } = core;
  /** @param outcome what came of another try */
  const send = async (res: Response, message: Message, outcome?: string | false) => {
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
        {outcome && <p role="status">{outcome}.</p>}
        <Facts facts={facts} />
        <h2>Message</h2>
        {maySee ? (
          <section class="verbatim" aria-label="Message" tabindex={0}>
            <pre>{text}</pre>
          </section>
        ) : (
          <p class="note">To read it takes the role desk.</p>
        )}
      </>
    );
    sendPage(res, title, content, { bar });
  };
  const againOf = (req: Request) => readForm(req.query, { again: oneOf(['accepted', 'tried']) }).again;

  routes.get('/callbacks/:id', 'viewer', async (req, res) => {
    const id = String(req.params.id);
    const delivery = await readDelivery(core, id);
    if (!delivery) return res.redirect(303, hrefTo(`/rejected/${id}`));
    const family = families.find(({ name }) => name === delivery.family);
    const again = againOf(req);
    const outcome =
      again === 'accepted'
        ? `Accepted: it is now callback ${id}`
        : again && titled(outcomes[delivery.status]!);
    return send(res, describeStored(delivery, family), outcome);
  });
  routes.post('/callbacks/:id/again', 'operator', async (req, res) => {
    const id = String(req.params.id);
    if (!uuid.test(id)) throw new PageNotFound('There is no such callback.');
    await logAccess(res, { action: 'replay', filter: { delivery: id } });
    await readStatuses(db, await replayDeliveries(db, { ids: [id] }));
    res.redirect(303, hrefTo(`/callbacks/${id}`, { again: 'tried' }));
  });

  const load = async (req: Request): Promise<Quarantined> => {
    const id = String(req.params.id);
    const message = uuid.test(id) ? await readQuarantined(core, id) : undefined;
    if (!message)
      throw new PageNotFound('There is no such message: it never came, or it was erased or deleted.');
    return message;
  };
  routes.get('/rejected/:id', 'viewer', async (req, res) => {
    const message = await load(req);
    const outcome = againOf(req) && !message.replayed_at && `Rejected again: ${describeFaults(message)}`;
    return send(res, describeRejected(message), outcome);
  });
  routes.post('/rejected/:id/again', 'operator', async (req, res) => {
    const { id, subjects } = await load(req);
    await logAccess(res, { action: 'quarantine replay', subjects, filter: { quarantine: id }, rows: 1 });
    const result = (await replayQuarantined(core, [id])).get(id);
    if (!result) throw new BadInput('This message was accepted before.');
    if (result.outcome === 'expired')
      throw new BadInput('It is older than what is kept of its kind: see RETENTION.');
    const [path, again] =
      result.outcome === 'rejected' ? [`/rejected/${id}`, 'tried'] : [`/callbacks/${result.id}`, 'accepted'];
    res.redirect(303, hrefTo(path!, { again }));
  });
};

const outcomes: Readonly<Record<string, string>> = {
  accepted: 'accepted',
  duplicate: 'accepted',
  applied: 'applied',
  rejected: 'rejected again',
  failed: 'failed again',
  received: 'waiting for a worker',
  expired: 'too old',
};
/** What `describeOutcomes` says, and nothing else. */
export const saidOutcomes = new RegExp(`^((^|, )[\\d,]+ (${Object.values(outcomes).join('|')}))+$`);

/** 12 accepted, 3 rejected again */
export function describeOutcomes(list: readonly string[]): string {
  const said = list.map((outcome) => outcomes[outcome]!);
  const counted = (one: string) => `${formatCount(said.filter((other) => other === one).length)} ${one}`;
  return [...new Set(said)].map(counted).join(', ');
}

type Arrival = StoredDelivery | Quarantined;

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

function describeStored(delivery: StoredDelivery, family: Family | undefined): Message {
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
    text: readableBody(body),
  };
}

function describeRejected(message: Quarantined): Message {
  const { id, reason, errors, subjects, acknowledged, replayed_at: accepted } = message;
  return {
    title: 'Rejected message',
    state: (
      <Badge state={accepted ? 'applied' : 'rejected'}>{accepted ? 'Accepted since' : 'Rejected'}</Badge>
    ),
    facts: {
      'Kind of record': titleOf(message.family),
      Reason: reasons[reason],
      'What is wrong': errors.map((error, index) => <div key={index}>{describeFault(error)}</div>),
      ...arrivalOf(message, message.count),
      Acknowledged: acknowledged ? 'yes: the sender will not send it again' : undefined,
      Accepted: accepted ? <Moment at={accepted} exact /> : undefined,
    },
    entry: { action: 'body', subjects, filter: { quarantine: id } },
    again: accepted ? undefined : hrefTo(`/rejected/${id}/again`),
    text: readableBody(message.body.toString()),
  };
}

export const titleOf = (family: string): string => familyTitles[family] ?? titled(family);

const describeFault = ({ path, message }: FieldError): string =>
  `${path
    .slice(1)
    .replace(/^data\//, '')
    .replaceAll('/', '.')} ${message}`.trim();

export function describeFaults({ reason, errors }: Pick<Cause, 'reason' | 'errors'>): string {
  const [first, ...others] = errors;
  if (!first) return reason ? reasons[reason] : '';
  return others.length > 0 ? `${describeFault(first)}, and ${others.length} more` : describeFault(first);
}
