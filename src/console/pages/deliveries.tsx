import type { Request, Response } from 'express';
import {
  type DeliveryLine,
  listDeliveries,
  readDelivery,
  replayDeliveries,
  type StoredDelivery,
  statuses,
} from '../../inbox/list-deliveries.ts';
import { readableBody } from '../../inbox/mask.ts';
import { hasPublicKey } from '../../inbox/read-record.ts';
import { type Page, PageNotFound } from '../page.ts';
import { choice, type Form, guid, localTime, parseForm, readForm, text } from '../read-form.ts';
import { hrefTo, visitOf } from '../ui/context.ts';
import { Filters } from '../ui/filters.tsx';
import { PersonalNote, PostButton, ShowPersonal } from '../ui/forms.tsx';
import { sendPage } from '../ui/send-page.tsx';
import { PageLinks, Table } from '../ui/table.tsx';
import { Facts, formatCount, formatTimes, IdLink, Moment, Named, Status, Verbatim } from '../ui/values.tsx';
import { RecordLink } from './records.tsx';

const pageRows = 50;

export const deliveries: Page = (routes, core) => {
  const names = core.families.map(({ name }) => name);
  const family = choice('Family', names);
  routes.get('/deliveries', 'viewer', async (req, res) => {
    const { timezone, aliases } = visitOf(res);
    const shape = {
      family,
      event: text.meta({ label: 'Event' }),
      status: choice('Status', statuses),
      business: text.meta({ label: 'Business', kind: 'business' }),
      since: localTime(timezone, 'Event time from'),
      until: localTime(timezone, 'Event time before'),
    };
    const { data, status, ...filter } = parseForm(req.query, shape, aliases);
    const { before } = readForm(req.query, { before: guid }).data;
    const lines = status === 200 ? await listDeliveries(core.db, { ...data, before }, pageRows + 1) : [];
    sendPage(res, 'Deliveries', <List {...{ lines, filter }} />, { status });
  });

  routes.post('/deliveries/replay', 'operator', async (req, res) => {
    const { data: filter } = readForm(req.body, { id: guid, family });
    await core.logAccess(res, { action: 'replay', filter });
    await replayDeliveries(core.db, { family: filter.family, ids: filter.id ? [filter.id] : undefined });
    const waiting = { status: 'received', family: filter.family };
    res.redirect(303, filter.id ? `/console/deliveries/${filter.id}` : hrefTo('/deliveries', waiting));
  });

  const show = async (req: Request, res: Response, revealed: boolean) => {
    const delivery = await readDelivery(core, String(req.params.id));
    if (!delivery) throw new PageNotFound('There is no such delivery.');
    const { id, subjects } = delivery;
    if (revealed)
      await core.logAccess(res, { action: 'reveal', subjects, filter: { delivery: id }, rows: 1 });
    sendPage(res, delivery.event, <Detail {...{ delivery, revealed }} />);
  };
  routes.get('/deliveries/:id', 'viewer', (req, res) => show(req, res, false));
  routes.post('/deliveries/:id/personal', 'desk', (req, res) => show(req, res, true));
};

function List({ lines, filter }: { lines: readonly DeliveryLine[]; filter: Form }) {
  const { entered } = filter;
  const rows = lines.slice(0, pageRows);
  const older = hrefTo('/deliveries', { ...entered, before: rows.at(-1)?.id });
  return (
    <>
      <Filters action="/console/deliveries" {...filter} folded />
      {entered.status === 'failed' && rows.length > 0 && (
        <PostButton
          action="/console/deliveries/replay"
          values={{ family: entered.family }}
          text={`Replay all failed${entered.family ? ` of the family ${entered.family}` : ''}`}
        />
      )}
      <Table
        label="Deliveries, the newest event first"
        rows={rows}
        empty="No matching deliveries."
        columns={[
          {
            head: 'Event time',
            cell: ({ id, event_time: at }) => <IdLink to="deliveries" id={id} at={at} />,
          },
          { head: 'Event', cell: ({ event }) => event },
          { head: 'Business', cell: ({ business_id }) => <Named kind="business" id={business_id} /> },
          { head: 'Status', cell: ({ status }) => <Status status={status} /> },
          { head: 'First received', cell: ({ received_at }) => <Moment at={received_at} /> },
          { head: 'Received', cell: ({ delivery_count }) => formatTimes(delivery_count), numeric: true },
        ]}
      />
      <PageLinks older={lines.length > pageRows && <a href={older}>Older →</a>} />
    </>
  );
}

function Detail({ delivery, revealed }: { delivery: StoredDelivery; revealed: boolean }) {
  const { id, status, error, record, delivery_count: count, body, isReduced } = delivery;
  const address = `/console/deliveries/${id}`;
  return (
    <>
      <Facts
        facts={{
          Delivery: <span class="id">{id}</span>,
          Record: record && (
            <RecordLink {...record} row={null} id={hasPublicKey(record.family) ? record.recordId : id} />
          ),
          Status: <Status status={status} />,
          Error: error ?? undefined,
          Erasure: isReduced ? 'What was personal is erased.' : undefined,
          Business: <Named kind="business" id={delivery.business_id} />,
          Client: delivery.client_id,
          'Event time': <Moment at={delivery.event_time} />,
          'First received': <Moment at={delivery.received_at} />,
          Duplicates:
            (count > 1 && (
              <>
                {formatCount(count - 1)}, the last one at <Moment at={delivery.last_received_at} />
              </>
            )) ||
            'none',
        }}
      />
      <div class="actions">
        <PostButton
          action="/console/deliveries/replay"
          values={{ id }}
          kind={status === 'failed' ? '' : 'second'}
          text="Replay"
        />
        <ShowPersonal {...{ revealed, address }} />
      </div>
      <PersonalNote {...{ revealed, address }}>Personal data is hidden.</PersonalNote>
      <Verbatim
        label="The callback as received"
        text={readableBody(body, revealed ? undefined : { family: record?.family })}
      />
    </>
  );
}
