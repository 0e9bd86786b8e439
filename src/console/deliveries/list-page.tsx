import type { Family } from '../../families/index.ts';
import { deliveryStatuses } from '../../store/tables.ts';
import { Filters } from '../ui/filters.tsx';
import { type FormField, familyChoices } from '../ui/forms.tsx';
import { hrefTo, recordHref, words } from '../ui/links.ts';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatDuration } from '../ui/time.ts';
import { formatTimes, IdLink, Moment, Named, Status } from '../ui/values.tsx';
import type { DeliveryLine, Listed, ParsedFilter } from './list.ts';

interface ListProps {
  families: readonly Family[];
  parsed: ParsedFilter;
  /** Undefined if the filter is invalid. */
  listed: Listed | undefined;
  /** Whether it is the first page, where new deliveries appear. */
  live: boolean;
}

export function DeliveryList({ families, parsed: { entered, faults }, listed, live }: ListProps) {
  const fields: FormField[] = [
    ...familyChoices(families),
    { name: 'status', label: 'Status', kind: 'choice', options: deliveryStatuses },
    { name: 'business', label: 'Business', kind: 'business' },
    { name: 'receipt', label: 'Receipt id' },
    { name: 'id', label: 'Delivery id' },
    { name: 'since', label: 'Event time from', kind: 'datetime-local' },
    { name: 'until', label: 'Event time before', kind: 'datetime-local' },
    { name: 'receivedSince', label: 'Received from', kind: 'datetime-local' },
    { name: 'receivedUntil', label: 'Received before', kind: 'datetime-local' },
    { name: 'order', label: 'Order by', kind: 'choice', options: ['event'], any: 'arrival' },
    ...(entered.error ? [{ name: 'error', label: 'Error' }] : []),
  ];
  return (
    <>
      <Filters action="/console/deliveries" {...{ fields, entered, faults }} folded />
      {listed && <Lines {...{ listed, entered, live }} />}
    </>
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

type LinesProps = { listed: Listed } & Pick<ListProps, 'live'> & Pick<ParsedFilter, 'entered'>;

function Lines({ listed, entered, live }: LinesProps) {
  const { rows, older, newer } = listed;
  const [first, last] = [rows[0], rows.at(-1)];
  const { order = 'arrival' } = entered;
  const link = (changes: Record<string, string>) => hrefTo('/deliveries', { ...entered, ...changes });
  const href = (by: string) => link({ order: by === 'event' ? by : '' });
  return (
    <div data-live={live ? '' : undefined}>
      <Table
        label={`Deliveries, newest ${order} first`}
        cards
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
    </div>
  );
}
