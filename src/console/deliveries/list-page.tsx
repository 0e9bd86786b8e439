import { type FilterForm, Filters } from '../ui/filters.tsx';
import { hrefTo, recordHref, words } from '../ui/links.ts';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatDuration } from '../ui/time.ts';
import { formatTimes, IdLink, Moment, Named, Status } from '../ui/values.tsx';
import type { DeliveryLine, Listed } from './list.ts';

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

interface ListProps {
  filter: FilterForm;
  /** Undefined if the filter is invalid. */
  listed: Listed | undefined;
  /** Whether it is the first page, where new deliveries appear. */
  live: boolean;
}

export const DeliveryList = ({ filter, listed, live }: ListProps) => (
  <>
    <Filters action="/console/deliveries" {...filter} folded />
    {listed && <Lines {...{ ...listed, live }} entered={filter.entered} />}
  </>
);

type LinesProps = Listed & Pick<ListProps, 'live'> & Pick<FilterForm, 'entered'>;

function Lines({ rows, older, newer, entered, live }: LinesProps) {
  const [first, last] = [rows[0], rows.at(-1)];
  const { order = 'arrival' } = entered;
  const link = (changes: Record<string, string>) => hrefTo('/deliveries', { ...entered, ...changes });
  const href = (by: string) => link({ order: by === 'event' ? by : '' });
  return (
    <div data-live={live ? '' : undefined}>
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
    </div>
  );
}
