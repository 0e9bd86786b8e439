import type { ComponentChildren, VNode } from 'preact';
import { useContext } from 'preact/hooks';
import type { Readiness } from '../../readiness.ts';
import { countLimit } from '../frame.ts';
import { RejectedTable } from '../rejections/pages.tsx';
import type { Rejected } from '../rejections/queries.ts';
import { Chart } from '../ui/chart.tsx';
import { VisitContext } from '../ui/context.ts';
import { Table } from '../ui/table.tsx';
import { formatDay, formatDuration } from '../ui/time.ts';
import { Ago, formatAmount, formatCount, Moment, Named } from '../ui/values.tsx';
import type { CachedResult } from './cached.ts';
import type { Arrivals, Backlog, Day, Latency, Silent } from './queries.ts';

export interface OverviewProps {
  readiness: Readiness;
  families: readonly string[];
  /** Undefined where the query timed out. */
  backlog: Backlog | undefined;
  arrivals: Arrivals | undefined;
  days: readonly Day[] | undefined;
  silences: CachedResult<Silent[]>;
  latency: Latency | null | undefined;
  /** Rejected requests since the time. */
  rejected: readonly Rejected[] | undefined;
  since: Date;
  /** Whether nothing tells the service from anybody else. */
  open: boolean;
  /** Shown in place of charts before the first callback. */
  setup: VNode | false;
}

const timedOut = (what: string) => (
  <p class="empty">{what}: the query timed out. Reload the page to try again.</p>
);
// The receiver is behind once a delivery waits longer.
const lateMs = 60_000;
const isLate = (oldest: Date | null) => oldest !== null && Date.now() - oldest.getTime() > lateMs;

export function Overview(props: OverviewProps) {
  const { readiness, families, backlog, arrivals, days, silences, latency, rejected, since, open, setup } =
    props;
  const { problems } = useContext(VisitContext);
  return (
    <>
      <section class="tiles" aria-label="Summary">
        <Tile name="Last callback" state={readiness.ready ? 'good' : 'bad'}>
          {arrivals?.last ? (
            <>
              <Ago at={arrivals.last} /> ago
            </>
          ) : (
            'none in the last 24 hours'
          )}
        </Tile>
        <Tile
          name="Waiting"
          href="/console/deliveries?status=received"
          state={backlog !== undefined && !isLate(backlog.oldest) ? 'good' : 'bad'}
        >
          {backlog ? <Waiting {...backlog} /> : 'unknown'}
        </Tile>
        <Counted name="Failed" href="/console/failed" count={problems?.failed} />
        <Counted name="In quarantine" href="/console/quarantine" count={problems?.quarantine} />
        <RejectedTile rejected={rejected} />
        <Tile name="Arrival to row, last hour" state="good">
          {latency
            ? `p50 ${formatDuration(latency.p50)}, p95 ${formatDuration(latency.p95)}`
            : latency === null
              ? 'no callbacks'
              : 'unknown'}
        </Tile>
      </section>
      {open && <OpenDoor />}
      {setup || <Silences result={silences} />}
      {(!setup || rejected?.some(({ unrouted }) => !unrouted)) && (
        <LastRejected rejected={rejected} since={since} />
      )}
      {!setup && (arrivals ? <Hours {...{ families, arrivals }} /> : timedOut('Callbacks per hour'))}
      {!setup && (days ? <Days days={days} /> : timedOut('Receipts per day'))}
      <h2>Health checks</h2>
      <Table
        label="Health checks"
        cards
        rows={Object.entries(readiness.parts)}
        empty="No checks."
        columns={[
          { head: 'Check', cell: ([name]) => name },
          {
            head: 'State',
            cell: ([name, { ok }]) =>
              name === 'access' && open ? (
                <span class="warn">open</span>
              ) : (
                <span class={ok ? 'good' : 'bad'}>{ok ? 'ok' : 'failing'}</span>
              ),
          },
          { head: 'Detail', cell: ([, { detail }]) => detail },
        ]}
      />
    </>
  );
}

interface TileProps {
  name: string;
  state: 'good' | 'warn' | 'bad';
  href?: string;
  children: ComponentChildren;
}

function Tile({ name, state, href, children }: TileProps) {
  return (
    <div class={`tile tile-${state}`}>
      <h2>{href ? <a href={href}>{name}</a> : name}</h2>
      <p>{children}</p>
    </div>
  );
}

function Waiting({ oldest, waiting }: Backlog) {
  if (!oldest) return 'none';
  return (
    <>
      {formatBounded(waiting)}, the oldest for <Ago at={oldest} />
    </>
  );
}

function Counted({ name, href, count }: { name: string; href: string; count: number | undefined }) {
  return (
    <Tile name={name} href={href} state={count === 0 ? 'good' : 'bad'}>
      {count === undefined ? 'unknown' : formatBounded(count)}
    </Tile>
  );
}

function RejectedTile({ rejected }: Pick<OverviewProps, 'rejected'>) {
  const count = rejected?.reduce((sum, { unrouted, requests }) => sum + (unrouted ? 0 : Number(requests)), 0);
  return (
    <Tile name="Rejected, last hour" href="/console/rejections" state={count === 0 ? 'good' : 'warn'}>
      {count === undefined ? 'unknown' : formatCount(count)}
    </Tile>
  );
}

function LastRejected({ rejected, since }: Pick<OverviewProps, 'rejected' | 'since'>) {
  return (
    <>
      <h2>Rejected requests, last hour</h2>
      {rejected ? <RejectedTable rows={rejected} since={since} /> : timedOut('Rejected requests')}
      <p>
        <a href="/console/rejections">Rejected requests of the last 24 hours, by time</a>
      </p>
    </>
  );
}

function OpenDoor() {
  return (
    <section class="warning">
      <h2>Anybody can send callbacks</h2>
      <p>
        No access check is configured: whoever knows an address can add receipts. Set{' '}
        <code>SIGNING_KEYS</code>, <code>ALLOWED_IPS</code>, <code>ALLOWED_CLIENT_IDS</code>,{' '}
        <code>ALLOWED_BUSINESS_IDS</code>, or paths with an unguessable part.
      </p>
    </section>
  );
}

const formatBounded = (count: number) =>
  count > countLimit ? `more than ${formatCount(countLimit)}` : formatCount(count);

function Silences({ result }: { result: CachedResult<Silent[]> }) {
  if (result === 'running') {
    return <p class="note">The check for silent businesses is still running. Reload the page in a moment.</p>;
  }
  if (result === 'failed') return <p class="note">The check for silent businesses failed or timed out.</p>;
  if (result.value.length === 0) return <p class="note">All businesses are sending as usual.</p>;
  return (
    <section class="warning">
      <h2>Unusually silent businesses</h2>
      <Table
        label="Unusually silent businesses"
        cards
        rows={result.value}
        columns={[
          {
            head: 'Business',
            cell: ({ business }) => (
              <a href={`/console/deliveries?business=${encodeURIComponent(business)}`}>
                <Named kind="business" id={business} />
              </a>
            ),
          },
          { head: 'Family', cell: ({ family }) => family.replaceAll('_', ' ') },
          { head: 'Last callback', cell: ({ last }) => <Moment at={last} /> },
          { head: 'Silent for', cell: ({ last }) => <Ago at={last} />, numeric: true },
          { head: 'Callbacks expected since', cell: ({ expected }) => formatCount(expected), numeric: true },
        ]}
      />
    </section>
  );
}

/** Colours are few, and the small parts of a bar cannot be told apart. */
const mostSeries = 6;

function Hours({ families, arrivals }: { families: readonly string[]; arrivals: Arrivals }) {
  const { hours, shown } = arrivals;
  const { timezone } = useContext(VisitContext);
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' });
  const count = (some: readonly string[], hour?: Date) =>
    hours
      .filter((row) => some.includes(row.family) && (!hour || row.hour.getTime() === hour.getTime()))
      .reduce((sum, { callbacks }) => sum + callbacks, 0);
  const sending = families
    .filter((family) => count([family]) > 0)
    .toSorted((one, other) => count([other]) - count([one]));
  const own = sending.length > mostSeries ? sending.slice(0, mostSeries - 1) : sending;
  const rest = sending.slice(own.length);
  const series = [
    ...own.map((family) => ({ name: family.replaceAll('_', ' '), of: [family] })),
    ...(rest.length > 0 ? [{ name: `${rest.length} other families`, of: rest }] : []),
  ];
  return (
    <Chart
      title="Callbacks per hour by family, last 24 hours"
      stacked
      labels={shown.map((hour) => clock.format(hour))}
      series={series.map(({ name, of }) => ({ name, values: shown.map((hour) => count(of, hour)) }))}
      format={formatCount}
    />
  );
}

function Days({ days }: { days: readonly Day[] }) {
  return (
    <Chart
      title="Net amount and amount due of each day’s receipts, in rupees"
      kind="line"
      labels={days.map(({ day }) => formatDay(day))}
      series={[
        { name: 'net amount', values: days.map(({ net }) => net) },
        { name: 'amount due', values: days.map(({ due }) => due) },
      ]}
      format={formatAmount}
    />
  );
}
