import { formatDay } from '../../common/days.ts';
import { families as allFamilies, type Family } from '../../families/index.ts';
import { type Gap, mostGaps, type Pass, shownDays } from '../../reports/completeness.ts';
import { hrefTo, words } from '../ui/links.ts';
import { Table } from '../ui/table.tsx';
import { ToDo } from '../ui/to-do.tsx';
import { Ago, formatCount, formatCountOf, Moment, Named } from '../ui/values.tsx';

interface CompletenessProps {
  passes: readonly Pass[];
  gaps: readonly Gap[];
}

export function CompletenessPage({ passes, gaps }: CompletenessProps) {
  return (
    <>
      <p>
        Whether everything that should have come did come: appointments are compared with those that the
        platform lists. What is missing or differs comes in as deliveries.
      </p>
      {passes.length > 0 ? <Passes passes={passes} /> : <Off />}
      <Actions gaps={gaps} />
      <h2>Gaps, last {shownDays} days</h2>
      <Gaps gaps={gaps} isCompared={passes.some(({ lastEnded }) => lastEnded)} />
      <p>
        <a href="/console/reports/completeness">What every day of each family rests on</a>, as a report;{' '}
        <a href="/console/reports/outages">outages of the receiver</a>.
      </p>
    </>
  );
}

function Off() {
  return (
    <section class="warning">
      <h2>Nothing was compared with the platform yet</h2>
      <p>
        With <code>RECONCILE=7d</code>, <code>SERVICE_BASE_URL</code> and the credentials, a worker compares
        the last seven days once a day, after midnight. <code>npx receiver reconcile --dry-run</code> compares
        now and changes nothing; <code>npx receiver doctor</code> checks the credentials.
      </p>
    </section>
  );
}

const overdueMs = 2 * 86_400_000;

function Passes({ passes }: { passes: readonly Pass[] }) {
  const isOverdue = ({ ended, lastEnded, begun, isRunning }: Pass) =>
    !isRunning && Date.now() - (ended ?? lastEnded ?? begun).getTime() > overdueMs;
  return (
    <>
      {passes.some(isOverdue) && (
        <p class="warning">
          No comparison was completed for two days: <code>RECONCILE</code> is not set, no worker runs, or the
          platform could not be read. The log of the workers says why; <code>npx receiver reconcile</code>{' '}
          compares now.
        </p>
      )}
      <Table
        label="Last comparison of each business"
        rows={passes}
        columns={[
          {
            head: 'Business',
            cell: ({ business }) => (business ? <Named kind="business" id={business} /> : 'not known'),
          },
          { head: 'Days', cell: ({ from, to }) => `${formatDay(from)} to ${formatDay(to)}` },
          { head: 'State', cell: (pass) => <State {...pass} /> },
          { head: 'Completed', cell: ({ lastEnded }) => <Moment at={lastEnded} /> },
        ]}
      />
    </>
  );
}

function State({ isRunning, ended, attempted, pages }: Pass) {
  if (ended) return <span class="good">completed</span>;
  const read = formatCountOf(pages, ['page', 'pages']);
  if (isRunning) {
    return (
      <>
        runs for <Ago at={attempted} />, {read} compared
      </>
    );
  }
  return (
    <span class="warn">
      interrupted after {read}; last tried <Ago at={attempted} /> ago
    </span>
  );
}

/** What was found, and how much of it was applied. */
const found = (count: number, filled: number) =>
  count === 0 ? (
    '0'
  ) : (
    <>
      {formatCount(count)}, <span class={filled < count ? 'warn' : 'good'}>{formatCount(filled)} filled</span>
    </>
  );

const families: readonly Family[] = allFamilies;

/** What was filled, or else what is suspected missing. */
function hrefOf({ business, family }: Gap) {
  const event = families.find(({ name }): boolean => name === family)?.reconciledBy;
  return event
    ? hrefTo('/deliveries', { business, event })
    : hrefTo('/reports/suspected_receipts', { business });
}

function Gaps({ gaps, isCompared }: Pick<CompletenessProps, 'gaps'> & { isCompared: boolean }) {
  return (
    <>
      <Table
        label="Gaps by day, newest first"
        rows={gaps}
        empty={isCompared ? 'No gaps were found.' : 'Not known: no comparison was completed.'}
        columns={[
          { head: 'Day', cell: ({ day }) => formatDay(day) },
          { head: 'Business', cell: ({ business }) => <Named kind="business" id={business} /> },
          {
            head: 'Family',
            cell: (gap) => <a href={hrefOf(gap)}>{words(gap.family)}</a>,
          },
          {
            head: 'Missing',
            cell: ({ missing, missingFilled }) => found(missing, missingFilled),
            numeric: true,
          },
          {
            head: 'Differing',
            cell: ({ differing, differingFilled }) => found(differing, differingFilled),
            numeric: true,
          },
          {
            head: 'Unknown',
            title: 'Records that the platform does not know',
            cell: ({ unknown }) => formatCount(unknown),
            numeric: true,
          },
          { head: 'As of', cell: ({ asOf }) => <Moment at={asOf} /> },
        ]}
      />
      {gaps.length === mostGaps && <p class="note">The newest {formatCount(mostGaps)} are shown.</p>}
    </>
  );
}

const isOpen = ({ method, missing, missingFilled, differing, differingFilled }: Gap) =>
  method === 'reconciled' && missingFilled + differingFilled < missing + differing;

function Actions({ gaps }: Pick<CompletenessProps, 'gaps'>) {
  const has = (isSo: (gap: Gap) => boolean) => gaps.some(isSo);
  return (
    <ToDo
      title="What to do"
      class="card"
      items={[
        has(({ missing, differing }) => missing + differing > 0) && (
          <>
            Callbacks did not arrive. <code>npx receiver doctor</code> compares the subscriptions with this
            receiver; <a href="/console/reports/outages">outages</a> may be the cause. The platform lets
            nobody read receipts and others: ask it to resend the callbacks of these days, first of all{' '}
            <a href="/console/reports/suspected_receipts">receipts that other records name</a>.
          </>
        ),
        has(isOpen) && (
          <>
            What is not filled waits or has failed: see{' '}
            <a href="/console/deliveries?status=received">waiting</a> and{' '}
            <a href="/console/problems">failed</a> deliveries.
          </>
        ),
        has(({ unknown }) => unknown > 0) && (
          <>
            Appointments that are unknown to the platform stay as they are: somebody deleted them there, or
            the credentials are those of another business.
          </>
        ),
      ]}
    />
  );
}
