import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { Readiness } from '../../readiness.ts';
import type { Bounded } from '../store.ts';
import { Chart } from '../ui/chart.tsx';
import { VisitContext } from '../ui/context.ts';
import { Table } from '../ui/table.tsx';
import { formatDuration } from '../ui/time.ts';
import { Ago, formatAmount, formatCount, Moment } from '../ui/values.tsx';
import type { Answer } from './cached.ts';
import type { Arrivals, Backlog, Day, Silent } from './figures.ts';

export interface OverviewProps {
  readiness: Readiness;
  families: readonly string[];
  /** Undefined where it took too long to find out. */
  backlog: Backlog | undefined;
  arrivals: (Arrivals & { shown: readonly Date[] }) | undefined;
  days: readonly Day[] | undefined;
  silences: Answer<Silent[]>;
}

const tooLate = (what: string) => (
  <p class="empty">{what} took too long to find out. Reload the page to try again.</p>
);
// What waits longer than this is not being kept up with.
const slowMs = 60_000;

export function Overview({ readiness, families, backlog, arrivals, days, silences }: OverviewProps) {
  return (
    <>
      <section class="tiles" aria-label="In short">
        <Tile name="Last callback" good={readiness.ready}>
          {arrivals?.last ? (
            <>
              <Ago at={arrivals.last} /> ago
            </>
          ) : (
            'none in 24 hours'
          )}
        </Tile>
        <Waiting backlog={backlog} />
        <Counted name="Failed" href="/console/failed" found={backlog?.failed} />
        <Counted name="In quarantine" href="/console/quarantine" found={backlog?.quarantined} />
        <Tile name="From arrival to row" good>
          {arrivals?.rowLagMs == null ? 'nothing in an hour' : formatDuration(arrivals.rowLagMs)}
        </Tile>
      </section>
      <Silences answer={silences} />
      {arrivals ? <Hours families={families} arrivals={arrivals} /> : tooLate('The callbacks per hour')}
      {days ? <Days days={days} /> : tooLate('The receipts per day')}
      <h2>What the service needs</h2>
      <Table
        label="Parts and whether they answer"
        rows={Object.entries(readiness.parts)}
        empty="Nothing."
        columns={[
          { head: 'Part', cell: ([name]) => name },
          {
            head: 'State',
            cell: ([, { ok }]) => <span class={ok ? 'good' : 'bad'}>{ok ? 'works' : 'away'}</span>,
          },
          { head: 'Detail', cell: ([, { detail }]) => detail },
        ]}
      />
    </>
  );
}

function Tile(props: { name: string; good: boolean; href?: string; children: ComponentChildren }) {
  const { name, good, href, children } = props;
  return (
    <div class={good ? 'tile' : 'tile tile-bad'}>
      <h2>{href ? <a href={href}>{name}</a> : name}</h2>
      <p>{children}</p>
    </div>
  );
}

function Waiting({ backlog }: { backlog: Backlog | undefined }) {
  if (!backlog?.oldest) {
    return (
      <Tile name="Waiting" good={backlog !== undefined} href="/console/deliveries?status=received">
        {backlog ? 'none' : 'unknown'}
      </Tile>
    );
  }
  const isSlow = Date.now() - backlog.oldest.getTime() > slowMs;
  return (
    <Tile name="Waiting" good={!isSlow} href="/console/deliveries?status=received">
      {formatBounded(backlog.waiting)}, the oldest for <Ago at={backlog.oldest} />
    </Tile>
  );
}

function Counted({ name, href, found }: { name: string; href: string; found: Bounded | undefined }) {
  return (
    <Tile name={name} href={href} good={found?.count === 0}>
      {found ? formatBounded(found) : 'unknown'}
    </Tile>
  );
}

const formatBounded = ({ count, more }: Bounded) =>
  more ? `more than ${formatCount(count)}` : formatCount(count);

function Silences({ answer }: { answer: Answer<Silent[]> }) {
  if (answer === 'waiting' || answer === 'failed') {
    return (
      <p class="note">
        Who is silent out of the ordinary{' '}
        {answer === 'waiting'
          ? 'is still being found out; reload in a moment.'
          : 'could not be found out in time.'}
      </p>
    );
  }
  if (answer.value.length === 0) return <p class="note">Nobody is silent out of the ordinary.</p>;
  return (
    <section class="warning">
      <h2>Silent out of the ordinary</h2>
      <Table
        label="Businesses that should have sent something by now"
        rows={answer.value}
        empty=""
        columns={[
          {
            head: 'Business',
            cell: ({ business }) => (
              <a href={`/console/deliveries?business=${encodeURIComponent(business)}`}>{business}</a>
            ),
          },
          { head: 'Family', cell: ({ family }) => family.replaceAll('_', ' ') },
          { head: 'Last callback', cell: ({ last }) => <Moment at={last} /> },
          { head: 'Silent for', cell: ({ last }) => <Ago at={last} />, numeric: true },
          { head: 'Expected since', cell: ({ expected }) => formatCount(expected), numeric: true },
        ]}
      />
    </section>
  );
}

type HoursProps = { families: readonly string[]; arrivals: Arrivals & { shown: readonly Date[] } };

function Hours({ families, arrivals: { hours, shown } }: HoursProps) {
  const { timezone } = useContext(VisitContext);
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' });
  const count = (family: string, hour: Date) =>
    hours.find((row) => row.family === family && row.hour.getTime() === hour.getTime())?.callbacks ?? 0;
  return (
    <Chart
      title="Callbacks per hour by family, the last 24 hours"
      kind="bar"
      stacked
      labels={shown.map((hour) => clock.format(hour))}
      series={families.map((family) => ({
        name: family.replaceAll('_', ' '),
        values: shown.map((hour) => count(family, hour)),
      }))}
      format={formatCount}
    />
  );
}

function Days({ days }: { days: readonly Day[] }) {
  return (
    <Chart
      title="Net amount and dues of each day’s receipts, in rupees"
      kind="line"
      labels={days.map(({ day }) => day)}
      series={[
        { name: 'net amount', values: days.map(({ net }) => net) },
        { name: 'still due', values: days.map(({ due }) => due) },
      ]}
      format={formatAmount}
    />
  );
}
