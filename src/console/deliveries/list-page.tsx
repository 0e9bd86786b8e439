import type { Family } from '../../families/index.ts';
import { deliveryStatuses } from '../../store/tables.ts';
import { Choice, Field, Submit } from '../ui/forms.tsx';
import { PageLinks, Table } from '../ui/table.tsx';
import { formatTimes, Moment, Nothing, Status } from '../ui/values.tsx';
import type { ParsedFilter } from './filter.ts';
import type { Listed } from './list.ts';

interface ListProps {
  families: readonly Family[];
  parsed: ParsedFilter;
  /** Undefined if the filter is invalid. */
  listed: Listed | undefined;
}

export function DeliveryList({ families, parsed: { entered, faults }, listed }: ListProps) {
  const choice = (label: string, name: string, options: readonly string[]) => (
    <Choice label={label} name={name} value={entered[name]} options={options} />
  );
  const field = (label: string, name: string) => (
    <Field label={label} name={name} value={entered[name]} fault={faults[name]} />
  );
  const moment = (label: string, name: string) => (
    <Field label={label} name={name} value={entered[name]} fault={faults[name]} type="datetime-local" />
  );
  const isNarrowed = Object.keys(entered).length > 0;
  return (
    <>
      <details class="card" open={Object.keys(faults).length > 0}>
        <summary>Filter{isNarrowed && `: ${describe(entered)}`}</summary>
        <form method="get" action="/console/deliveries">
          <div class="fields">
            {choice(
              'Family',
              'family',
              families.map(({ name }) => name),
            )}
            {choice(
              'Event',
              'event',
              families.flatMap(({ events }) => events),
            )}
            {choice('Status', 'status', deliveryStatuses)}
            {field('Business', 'business')}
            {field('Receipt id', 'receipt')}
            {field('Delivery id', 'id')}
            {moment('Event time from', 'from')}
            {moment('Event time before', 'until')}
            {moment('Received from', 'receivedFrom')}
            {moment('Received before', 'receivedUntil')}
            {entered.error && field('Error', 'error')}
          </div>
          <div class="actions">
            <Submit>Show</Submit>
          </div>
        </form>
      </details>
      {isNarrowed && (
        <p>
          <a href="/console/deliveries">Show all</a>
        </p>
      )}
      {listed && <Lines listed={listed} entered={entered} />}
    </>
  );
}

const labels: Record<string, string> = {
  id: 'delivery',
  from: 'event time from',
  until: 'event time before',
  receivedFrom: 'received from',
  receivedUntil: 'received before',
};

const describe = (entered: Record<string, string>) =>
  Object.entries(entered)
    .map(([name, value]) => `${labels[name] ?? name} ${value}`)
    .join(', ');

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
          { head: 'Business', cell: ({ business_id }) => business_id || <Nothing /> },
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
