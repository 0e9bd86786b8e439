import type { Request, Response } from 'express';
import { z } from 'zod';
import { formatDuration } from '../../common/times.ts';
import { type Family, patientsIn } from '../../families/index.ts';
import { type DeliveryLine, listDeliveries } from '../../intake/list-deliveries.ts';
import { patientsOfRow } from '../../privacy/find-deliveries.ts';
import { markSeen } from '../../store/seen.ts';
import { deliveryStatuses } from '../../store/tables.ts';
import type { Section } from '../dependencies.ts';
import {
  choice,
  familyFields,
  fieldsOf,
  guid,
  localTime,
  parseForm,
  readForm,
  receiptId,
  text,
} from '../read-form.ts';
import { actorOf, type Visit } from '../ui/context.ts';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { PostButton } from '../ui/forms.tsx';
import { hrefTo, recordHref, words } from '../ui/links.ts';
import { sendPage } from '../ui/page.tsx';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatTimes, IdLink, Moment, Named, Status } from '../ui/values.tsx';
import { DeliveryDetail, readDetails } from './detail-page.tsx';

export const section: Section = {
  addRoutes(routes, { families, db, logAccess }) {
    routes.get('/deliveries', 'viewer', async (req, res) => {
      const { data, status, ...filter } = parseFilter(req.query, families, res.locals.visit as Visit);
      const { data: place } = readForm(req.query, placeFields);
      const list = () => listDeliveries(db, families, data, place);
      const listed = status === 200 ? await list() : undefined;
      const page = (
        <>
          <Filters action="/console/deliveries" {...filter} folded />
          {listed && <ReplayThese entered={filter.entered} business={data.business} />}
          {listed && <Lines {...listed} entered={filter.entered} />}
        </>
      );
      sendPage(res, 'Deliveries', page, { status });
    });

    const show = async (req: Request, res: Response, revealed: boolean) => {
      const details = await readDetails(db, families, String(req.params.id));
      const { delivery, record } = details;
      if (revealed) {
        const patients = [...patientsIn(delivery.envelope), ...patientsOfRow(record?.newest.row ?? {})];
        const filter = { delivery: delivery.id };
        await logAccess(res, { action: 'reveal', patients, filter, rows: 1 });
      }
      sendPage(res, delivery.event, <DeliveryDetail {...details} revealed={revealed} />);
    };
    routes.get('/deliveries/:id', 'viewer', (req, res) => show(req, res, false));
    routes.post('/deliveries/:id/personal', 'privacy', (req, res) => show(req, res, true));

    routes.post('/deliveries/:id/seen', 'operator', async (req, res) => {
      const { delivery } = await readDetails(db, families, String(req.params.id));
      await db.transaction().execute(async (tx) => {
        await markSeen(tx, delivery.id, actorOf(res).id);
        await logAccess(res, { action: 'seen', filter: { delivery: delivery.id }, rows: 1 }, tx);
      });
      res.redirect(303, `/console/deliveries/${delivery.id}`);
    });
  },
};

/** Parses the filter in an address: which deliveries to show. That for an error is shown only where it is set. */
function parseFilter(
  query: Record<string, unknown>,
  families: readonly Family[],
  { timezone, aliases }: Visit,
) {
  const shape = {
    ...familyFields(families),
    status: choice('Status', deliveryStatuses),
    business: text.meta({ label: 'Business', kind: 'business' }),
    receipt: receiptId.meta({ label: 'Receipt id' }),
    id: guid.meta({ label: 'Delivery id' }),
    since: localTime(timezone, 'Event time from'),
    until: localTime(timezone, 'Event time before'),
    receivedSince: localTime(timezone, 'Received from'),
    receivedUntil: localTime(timezone, 'Received before'),
    order: choice('Order by', ['event'], 'arrival'),
    error: text.meta({ label: 'Error' }),
  };
  const parsed = parseForm(query, shape, aliases);
  const { error, ...others } = shape;
  return { ...parsed, fields: fieldsOf(parsed.entered.error ? shape : others, true) };
}

/** Where a page begins, see `DeliveryLine`. */
const place = z
  .string()
  .regex(/^\d{1,17}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, 'There is no such page.');

const placeFields = { before: place, after: place };

interface ReplayProps extends Pick<FilterForm, 'entered'> {
  /** Its id: what was entered may be a name. */
  business: string | undefined;
}

/** Replays what a filter for failed deliveries shows, unless it asks for more than a replay can select. */
function ReplayThese({ entered, business }: ReplayProps) {
  const { receivedSince, receivedUntil, order: _, ...others } = entered;
  if (others.status !== 'failed' || others.receipt || others.since || others.until) return null;
  const values = { ...others, business, since: receivedSince, until: receivedUntil };
  return (
    <div class="actions">
      <PostButton action="/console/replay/preview" values={values} kind="second">
        Replay these …
      </PostButton>
    </div>
  );
}

/** Leads to the record that a delivery is about; where its family has no ids, each delivery is one. */
function RecordCell({ id, family, business_id, record }: DeliveryLine) {
  return (
    <a class="cut" href={recordHref(family, business_id, record ?? id)} title={record ?? undefined}>
      {record ?? words(family)}
    </a>
  );
}

/** The clocks of two hosts hardly differ by more. */
const clockDifferenceMs = 60_000;

/** An event time that was ahead of the clock when the delivery came is the newest until then. */
function EventTime({ event_time, received_at }: DeliveryLine) {
  const aheadMs = event_time.getTime() - received_at.getTime();
  return (
    <>
      <Moment at={event_time} />
      {aheadMs > clockDifferenceMs && (
        <small class="ahead">{formatDuration(aheadMs)} ahead of the clock</small>
      )}
    </>
  );
}

type LinesProps = Awaited<ReturnType<typeof listDeliveries>> & Pick<FilterForm, 'entered'>;

function Lines({ rows, older, newer, entered }: LinesProps) {
  const [first, last] = [rows[0], rows.at(-1)];
  const { order = 'arrival' } = entered;
  const link = (changes: Record<string, string>) => hrefTo('/deliveries', { ...entered, ...changes });
  const href = (by: string) => link({ order: by === 'event' ? by : '' });
  return (
    <>
      <Table
        label={`Deliveries, newest ${order} first`}
        sorting={{ by: order, descending: true, href }}
        rows={rows}
        empty={Object.keys(entered).length > 0 ? 'No matching deliveries.' : 'No deliveries yet.'}
        columns={[
          {
            head: 'Received',
            sort: 'arrival',
            cell: ({ id, received_at }) => <IdLink to="deliveries" id={id} at={received_at} />,
          },
          { head: 'Event', cell: ({ event }) => event },
          { head: 'Record', cell: (line) => <RecordCell {...line} /> },
          { head: 'Business', cell: ({ business_id }) => <Named kind="business" id={business_id} /> },
          { head: 'Status', cell: ({ status }) => <Status status={status} /> },
          { head: 'Event time', sort: 'event', cell: (line) => <EventTime {...line} /> },
          { head: 'Times', cell: ({ delivery_count }) => formatTimes(delivery_count), numeric: true },
        ]}
      />
      <PageLinks
        newer={newer && first && link({ after: first.place })}
        older={older && last && link({ before: last.place })}
      />
    </>
  );
}
