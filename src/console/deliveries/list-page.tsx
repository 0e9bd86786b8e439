import type { Family } from '../../families/index.ts';
import { deliveryStatuses } from '../../store/tables.ts';
import { Choice, Field, Submit } from '../ui/forms.tsx';
import { Table } from '../ui/table.tsx';
import { formatTimes, Moment, Nothing, Status } from '../ui/values.tsx';
import type { ParsedFilter } from './filter.ts';
import type { Listed } from './list.ts';

interface ListProps {
  families: readonly Family[];
  parsed: ParsedFilter;
  /** Undefined if the filter is invalid. */
  listed: Listed | undefined;
}

export function DeliveryList({ families, parsed, listed }: ListProps) {
  const { entered, faults } = parsed;
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
            <Choice
              label="Family"
              name="family"
              value={entered.family}
              options={families.map((f) => f.name)}
            />
            <Choice
              label="Event"
              name="event"
              value={entered.event}
              options={families.flatMap(({ events }) => events)}
            />
            <Choice label="Status" name="status" value={entered.status} options={deliveryStatuses} />
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
      {listed && <Lines listed={listed} isNarrowed={isNarrowed} />}
      {listed && <Pages listed={listed} entered={entered} />}
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

function Lines({ listed, isNarrowed }: { listed: Listed; isNarrowed: boolean }) {
  return (
    <Table
      label="Deliveries, newest event first"
      rows={listed.rows}
      empty={isNarrowed ? 'No matching deliveries.' : 'No deliveries yet.'}
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
        { head: 'Record', cell: ({ record }) => record ?? <Nothing /> },
        { head: 'Business', cell: ({ business_id }) => business_id },
        { head: 'Status', cell: ({ status }) => <Status status={status} /> },
        { head: 'First received', cell: ({ received_at }) => <Moment at={received_at} /> },
        { head: 'Received', cell: ({ delivery_count }) => formatTimes(delivery_count), numeric: true },
      ]}
    />
  );
}

function Pages({
  listed: { rows, older, newer },
  entered,
}: {
  listed: Listed;
  entered: Record<string, string>;
}) {
  const [first, last] = [rows[0], rows.at(-1)];
  const link = (place: Record<string, string>) =>
    `/console/deliveries?${new URLSearchParams({ ...entered, ...place })}`;
  return (
    <nav class="pages" aria-label="Pages">
      <span>{newer && first && <a href={link({ after: first.id })}>← Newer</a>}</span>
      <span>{older && last && <a href={link({ before: last.id })}>Older →</a>}</span>
    </nav>
  );
}
