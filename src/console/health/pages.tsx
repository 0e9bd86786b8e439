import type { ComponentChildren, VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { formatDuration } from '../../common/times.ts';
import { type Figures, mostDrift } from '../../health/figures.ts';
import { countLimit } from '../../store/read.ts';
import { type Problems, VisitContext } from '../ui/context.ts';
import { hrefTo, words } from '../ui/links.ts';
import { Table } from '../ui/table.tsx';
import { Ago, Facts, formatCount, Moment, Named } from '../ui/values.tsx';

/** One of the figures, where its query did not time out. */
type Given<Name extends keyof Figures> = NonNullable<Figures[Name]>;

interface FiguresProps extends Figures {
  /** Shown in place of figures before the first callback. */
  setup: VNode | false | undefined;
}

const timedOut = (what: string) => (
  <p class="empty">{what}: the query timed out. Reload the page to try again.</p>
);

export function FiguresPage(props: FiguresProps) {
  const { arrivals, silences, drift, versions, setup } = props;
  return (
    <>
      <section class="tiles" aria-label="Summary">
        {tilesOf(props, useContext(VisitContext).problems).map(([name, state, text, href]) => (
          <div key={name} class={`tile tile-${state}`}>
            <h2>{href ? <a href={`/console/${href}`}>{name}</a> : name}</h2>
            <p>{text ?? 'unknown'}</p>
          </div>
        ))}
      </section>
      {setup || <Silences result={silences} />}
      <p>
        <a href="/console/reports?group=operations">Reports about the receiver itself</a>
      </p>
      {!setup && (
        <>
          <h2>Drift</h2>
          <Drift rows={drift} />
        </>
      )}
      {!setup && (arrivals ? <Hours arrivals={arrivals} /> : timedOut('Callbacks per hour'))}
      <h2>Versions</h2>
      <Facts facts={versions} />
    </>
  );
}

/** A text that is undefined is unknown; the address is below /console. */
type Tile = [name: string, state: 'good' | 'warn' | 'bad', text: ComponentChildren, href?: string];

// The receiver is behind once a delivery waits longer.
const lateMs = 60_000;

function tilesOf({ backlog, arrivals, latency }: FiguresProps, problems: Problems | undefined): Tile[] {
  const goodIf = (isGood: boolean | undefined, otherwise: 'warn' | 'bad' = 'bad') =>
    isGood ? 'good' : otherwise;
  const last = arrivals?.findLast((one) => one.last)?.last;
  const isLate = backlog?.oldest && Date.now() - backlog.oldest.getTime() > lateMs;
  const { failed, quarantine } = problems ?? {};
  const ago = last && [<Ago key="last" at={last} />, ' ago'];
  return [
    ['Last callback', 'good', ago ?? 'none in the last 24 hours'],
    [
      'Waiting',
      goodIf(backlog && !isLate),
      backlog && <Waiting {...backlog} />,
      'deliveries?status=received',
    ],
    ['Failed', goodIf(failed === 0), formatBounded(failed), 'problems'],
    ['In quarantine', goodIf(quarantine === 0), formatBounded(quarantine), 'problems'],
    ['Arrival to row, last hour', 'good', latency && formatLatency(latency)],
  ];
}

function Waiting({ oldest, waiting }: Given<'backlog'>) {
  if (!oldest) return 'none';
  return (
    <>
      {formatBounded(waiting)}, the oldest for <Ago at={oldest} />
    </>
  );
}

const formatLatency = ({ p50, p95 }: Given<'latency'>) =>
  p50 === null || p95 === null ? 'no callbacks' : `p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}`;

/** Undefined stays undefined. */
function formatBounded(count: number | undefined) {
  if (count === undefined) return undefined;
  return count > countLimit ? `more than ${formatCount(countLimit)}` : formatCount(count);
}

function Silences({ result }: { result: Figures['silences'] }) {
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
        rows={result.value}
        columns={[
          {
            head: 'Business',
            cell: ({ business }) => (
              <a href={hrefTo('/deliveries', { business })}>
                <Named kind="business" id={business} />
              </a>
            ),
          },
          { head: 'Family', cell: ({ family }) => words(family) },
          { head: 'Last callback', cell: ({ last }) => <Moment at={last} /> },
          { head: 'Silent for', cell: ({ last }) => <Ago at={last} />, numeric: true },
          { head: 'Callbacks expected since', cell: ({ expected }) => formatCount(expected), numeric: true },
        ]}
      />
    </section>
  );
}

const kinds: Readonly<Record<string, string>> = {
  unknown: 'unknown field',
  missing: 'missing field',
  value: 'new value',
  other: 'others',
};

function Drift({ rows }: { rows: Figures['drift'] }) {
  return (
    <>
      <Table
        label="Drift"
        rows={rows}
        empty="Callbacks are as documented."
        columns={[
          {
            head: 'What',
            cell: ({ kind, field }) => (field === '/event' ? 'new event' : (kinds[kind] ?? kind)),
          },
          { head: 'Event', cell: ({ event }) => event },
          { head: 'Field', cell: ({ field }) => <code>{field}</code> },
          { head: 'Callbacks', cell: ({ count }) => formatCount(count), numeric: true },
          { head: 'Last', cell: ({ last }) => <Moment at={last} /> },
        ]}
      />
      {rows?.length === mostDrift && (
        <p>
          <a href="/console/reports/schema_drift">All drift</a>
        </p>
      )}
    </>
  );
}

function Hours({ arrivals }: { arrivals: Given<'arrivals'> }) {
  const { timezone } = useContext(VisitContext);
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' });
  const hours = [...new Set(arrivals.map(({ hour }) => hour.getTime()))];
  const families = [...new Set(arrivals.flatMap(({ family }) => family ?? []))];
  const count = (at: number, name: string) =>
    arrivals.find(({ hour, family }) => hour.getTime() === at && family === name)?.callbacks ?? 0;
  return (
    <>
      <h2>Callbacks per hour by family, last 24 hours</h2>
      <Table
        label="Callbacks per hour by family"
        scrolls
        rows={families.length > 0 ? hours : []}
        empty="No callbacks."
        columns={[
          { head: 'Hour', cell: (at) => clock.format(at), rowHead: true },
          ...families.map((name) => ({
            head: words(name),
            cell: (at: number) => formatCount(count(at, name)),
            numeric: true,
          })),
        ]}
      />
    </>
  );
}
