import type { Family } from '../../families/index.ts';
import { deliveryStatuses } from '../../store/tables.ts';
import { type FilterField, Filters } from '../ui/filters.tsx';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatTimes, Moment, Named, Nothing, Status } from '../ui/values.tsx';
import type { ParsedFilter } from './form.ts';
import type { Listed } from './list.ts';

interface ListProps {
  families: readonly Family[];
  parsed: ParsedFilter;
  /** Undefined if the filter is invalid. */
  listed: Listed | undefined;
}

export function DeliveryList({ families, parsed: { entered, faults }, listed }: ListProps) {
  const fields: FilterField[] = [
    { name: 'family', label: 'Family', kind: 'choice', options: families.map(({ name }) => name) },
    { name: 'event', label: 'Event', kind: 'choice', options: families.flatMap(({ events }) => events) },
    { name: 'status', label: 'Status', kind: 'choice', options: deliveryStatuses },
    { name: 'business', label: 'Business', kind: 'business' },
    { name: 'receipt', label: 'Receipt id' },
    { name: 'id', label: 'Delivery id' },
    { name: 'from', label: 'Event time from', kind: 'datetime-local' },
    { name: 'until', label: 'Event time before', kind: 'datetime-local' },
    { name: 'receivedFrom', label: 'Received from', kind: 'datetime-local' },
    { name: 'receivedUntil', label: 'Received before', kind: 'datetime-local' },
    ...(entered.error ? [{ name: 'error', label: 'Error' }] : []),
  ];
  return (
    <>
      <Filters action="/console/deliveries" {...{ fields, entered, faults }} folded />
      {listed && <Lines listed={listed} entered={entered} />}
    </>
  );
}

/** Ids of appointments are long, and the status has to be visible. */
function RecordId({ id }: { id: string | null }) {
  if (id === null) return <Nothing />;
  return (
    <span class="cut" title={id}>
      {id}
    </span>
  );
}

function Lines({ listed, entered }: { listed: Listed; entered: Record<string, string> }) {
  const { rows, older, newer } = listed;
  const [first, last] = [rows[0], rows.at(-1)];
  const link = (place: Record<string, string>) =>
    `/console/deliveries?${new URLSearchParams({ ...entered, ...place })}`;
  return (
    <>
      <Table
        label="Deliveries, newest event first"
        cards
        rows={rows}
        empty={Object.keys(entered).length > 0 ? 'No matching deliveries.' : 'No deliveries yet.'}
        columns={[
          {
            head: 'Event time',
            cell: ({ id, event_time }) => (
              <a href={`/console/deliveries/${id}`}>
                <Moment at={event_time} />
              </a>
            ),
          },
          { head: 'Event', cell: ({ event }) => event },
          { head: 'Record', cell: ({ record }) => <RecordId id={record} /> },
          { head: 'Business', cell: ({ business_id }) => <Named kind="business" id={business_id} /> },
          { head: 'Status', cell: ({ status }) => <Status status={status} /> },
          { head: 'First received', cell: ({ received_at }) => <Moment at={received_at} /> },
          { head: 'Received', cell: ({ delivery_count }) => formatTimes(delivery_count), numeric: true },
        ]}
      />
      <PageLinks
        newer={newer && first && link({ after: first.id })}
        older={older && last && link({ before: last.id })}
      />
    </>
  );
}
