import type { Request } from 'express';
import { z } from 'zod';
import type { Family } from '../../callbacks/families/family.ts';
import { addDays, daysBetween, formatDay } from '../../common/days.ts';
import { formatLocal, parseLocal } from '../../common/local-times.ts';
import { type Arrivals, readArrivals } from '../../inbox/arrivals.ts';
import { type Cause, listCauses } from '../../inbox/causes.ts';
import { readDelivery, replayDeliveries, type StoredDelivery } from '../../inbox/list-deliveries.ts';
import { readableBody } from '../../inbox/mask.ts';
import { hasPublicKey } from '../../inbox/read-record.ts';
import type { Db } from '../../receiver/store/tables.ts';
import type { ListQuery } from '../lists/query.ts';
import { BadInput, hasRole, type Page, PageNotFound } from '../page.ts';
import { cause, guid, readForm } from '../read-form.ts';
import { hrefTo, useMay, useVisit } from '../ui/context.ts';
import { PostButton } from '../ui/forms.tsx';
import { Bars } from '../ui/pictures.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import {
  Badge,
  Facts,
  formatCount,
  formatCountOf,
  formatTimes,
  Moment,
  Named,
  Verbatim,
} from '../ui/values.tsx';
import { RecordLink } from './records.tsx';
import { describeFaults, eventOf } from './rejected.tsx';

const maxDays = 400;

const forms = { id: guid, cause };
const count = z.coerce.number().int().min(0);
/** What became of another try. */
const outcome = { again: count, accepted: count, refused: count, left: count };

/** A stored callback, and another try of those that failed. The list is one of lists/definitions.ts. */
export const callbacks: Page = (routes, context) => {
  const { db, families, logAccess } = context;
  routes.post('/callbacks/again', 'operator', async (req, res) => {
    const { id, cause } = readForm(req.body, forms);
    if (!id && !cause) throw new BadInput('The callback is missing.');
    await logAccess(res, { action: 'replay', filter: { delivery: id, cause } });
    const again = await replayDeliveries(db, id ? { ids: [id] } : { cause });
    res.redirect(303, hrefTo(id ? `/callbacks/${id}` : '/callbacks', id ? {} : { again: `${again}` }));
  });

  routes.get('/callbacks/:id', 'viewer', async (req, res) => {
    const delivery = await readDelivery(context, String(req.params.id));
    if (!delivery) throw new PageNotFound('There is no such callback: it never came, or it was erased.');
    const { id, event, status, subjects } = delivery;
    if (hasRole(res, 'desk'))
      await logAccess(res, { action: 'reveal', subjects, filter: { delivery: id }, rows: 1 });
    const bar = (
      <>
        <Badge state={status === 'received' ? 'waiting' : status} />
        <span class="right">
          <PostButton action="/console/callbacks/again" least="operator" values={{ id }} text="Try again" />
        </span>
      </>
    );
    sendPage(res, event, <Detail {...{ delivery, families }} />, { bar });
  });
};

/** Above the list: how many came, when, and what has failed or was rejected. */
export async function aboveCallbacks(db: Db, { filter }: ListQuery, timezone: string, req: Request) {
  const { from, to = from, state, page, business, chosen } = filter;
  if (state || page) return undefined;
  const startOf = (day: string) => parseLocal(`${day}T00:00`, timezone)!;
  const unit = from && daysBetween(from, to!) < 2 ? 'hour' : 'day';
  const arrivals =
    from && to && daysBetween(from, to) < maxDays
      ? await readArrivals(
          db,
          { since: startOf(from), until: startOf(addDays(to, 1)), unit },
          { business, family: chosen?.family },
        )
      : undefined;
  return <Above {...{ arrivals, unit }} causes={await listCauses(db)} done={readForm(req.query, outcome)} />;
}

type Outcome = Partial<Record<keyof typeof outcome, number | undefined>>;

interface AboveProps {
  arrivals: readonly Arrivals[] | undefined;
  unit: 'hour' | 'day';
  causes: readonly Cause[];
  done: Outcome;
}

function Above({ arrivals, unit, causes, done }: AboveProps) {
  return (
    <>
      <Done {...done} />
      {arrivals && <Overview {...{ arrivals, unit }} />}
      {causes.length > 0 && <Causes causes={causes} />}
    </>
  );
}

function Done({ again, accepted, refused, left }: Outcome) {
  const messages = (n: number) => formatCountOf(n, ['message', 'messages']);
  const sentences = [
    again !== undefined && `${formatCountOf(again, ['callback is', 'callbacks are'])} tried again.`,
    accepted !== undefined && `${messages(accepted)} accepted.`,
    refused ? `${messages(refused)} rejected again: nothing was changed.` : undefined,
    left ? `${messages(left)} not tried yet: try again.` : undefined,
  ].filter(Boolean);
  return sentences.length > 0 ? <p role="status">{sentences.join(' ')}</p> : null;
}

function Overview({ arrivals, unit }: { arrivals: readonly Arrivals[]; unit: 'hour' | 'day' }) {
  const { timezone } = useVisit();
  const sum = (key: 'stored' | 'waiting' | 'failed' | 'rejected') =>
    arrivals.reduce((total, row) => total + row[key], 0);
  const [stored, waiting, failed, rejected] = [sum('stored'), sum('waiting'), sum('failed'), sum('rejected')];
  const open = { waiting, failed, rejected };
  const nameOf = (at: Date) => {
    const local = formatLocal(at.getTime(), timezone);
    return `${formatDay(local.slice(0, 10))}${unit === 'hour' ? `, ${local.slice(11, 16)}` : ''}`;
  };
  return (
    <div class="hero">
      <div>
        <strong>{formatCount(stored + rejected)}</strong> received
        <p class="soft">
          {formatCount(stored - waiting - failed)} applied
          {Object.entries(open).map(([state, count]) => (
            <span key={state}>
              {' · '}
              {count > 0 ? <a href={stateHref(state)}>{`${formatCount(count)} ${state}`}</a> : `0 ${state}`}
            </span>
          ))}
        </p>
      </div>
      <Bars
        about={`Callbacks received by ${unit}`}
        bars={arrivals.map(({ at, stored, failed, rejected }) => ({
          label: `${nameOf(at)}: ${formatCount(stored + rejected)}${failed + rejected > 0 ? `, ${formatCount(failed + rejected)} failed or rejected` : ''}`,
          value: stored + rejected,
          failed: failed + rejected,
        }))}
      />
    </div>
  );
}

const stateHref = (state: string, cause?: string) =>
  state === 'rejected'
    ? hrefTo('/rejected', { cause })
    : hrefTo('/callbacks', { range: 'all', state, cause });

const again: Column<Cause> = [
  'Again',
  ({ state, cause }) => (
    <PostButton
      action={`/console/${state === 'failed' ? 'callbacks' : 'rejected'}/again`}
      least="operator"
      values={{ cause }}
      text="Try again"
    />
  ),
];

function Causes({ causes }: { causes: readonly Cause[] }) {
  const mayTry = useMay('operator');
  return (
    <>
      <h2>To do</h2>
      <Table
        label="Causes of failed callbacks and rejected messages"
        rows={causes}
        columns={[
          [
            'Count',
            ({ state, count }) => (
              <Badge state={state}>
                {formatCount(count)} {state}
              </Badge>
            ),
          ],
          [
            'Cause',
            ({ business, businesses, since, ...cause }) => (
              <>
                {eventOf(cause)}: {describeFaults(cause)}{' '}
                <small>
                  {businesses > 1 ? (
                    `${formatCount(businesses)} businesses`
                  ) : (
                    <Named kind="business" id={business} />
                  )}
                  , since <Moment at={since} />
                </small>
              </>
            ),
            'wide',
          ],
          ['Messages', ({ state, cause }) => <a href={stateHref(state, cause)}>Look</a>],
          ...(mayTry ? [again] : []),
        ]}
      />
    </>
  );
}

interface DetailProps {
  delivery: StoredDelivery;
  families: readonly Family[];
}

function Detail({ delivery, families }: DetailProps) {
  const { id, error, delivery_count: times, body, isReduced, business_id: businessId, record_id } = delivery;
  const maySee = useMay('desk');
  const family = families.find(({ name }) => name === delivery.family);
  return (
    <>
      <Facts
        facts={{
          Record: family && (
            <RecordLink {...{ family, businessId }} id={hasPublicKey(family) ? record_id : id} row={null} />
          ),
          Error: error ?? undefined,
          Erasure: isReduced ? 'What was personal is erased.' : undefined,
          Business: <Named kind="business" id={businessId} />,
          Client: delivery.client_id,
          Happened: <Moment at={delivery.event_time} exact />,
          Received: <Moment at={delivery.received_at} exact />,
          'Received again':
            times > 1 ? (
              <>
                {formatTimes(times - 1)}, the last at <Moment at={delivery.last_received_at} exact />
              </>
            ) : undefined,
          Id: id,
        }}
      />
      <h2>Message</h2>
      {!maySee && <p class="note">Names and what else is personal are hidden: they take the role desk.</p>}
      <Verbatim label="Message" text={readableBody(body, maySee ? undefined : { family })} />
    </>
  );
}
