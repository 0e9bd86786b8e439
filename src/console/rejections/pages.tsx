import { type Rejected, type RejectedAt, reasonOf } from '../../store/rejections.ts';
import { CauseTable } from '../problems/causes.tsx';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { Table } from '../ui/table.tsx';
import { formatCount, Moment } from '../ui/values.tsx';

const requests = ['request', 'requests'] as const;

const lineOf = ({ status, reason, requests, first, last }: Rejected) => {
  const { meaning, action, quarantine } = reasonOf(reason, status);
  const text = (
    <>
      <strong>{meaning}</strong> {action} <span class="hint">{status}</span>{' '}
      {quarantine && <a href={hrefTo('/quarantine', { reason: quarantine })}>Bodies in quarantine</a>}
    </>
  );
  return { text, count: Number(requests), first, last };
};

/** Rejected requests by status and reason, with what to do; those to other paths in a line that opens. */
export function RejectedTable({ rows }: { rows: readonly Rejected[] }) {
  const scanned = rows.filter(({ unrouted }) => unrouted);
  return (
    <>
      <CauseTable
        label="Rejected requests by reason"
        rows={requests}
        lines={rows.filter(({ unrouted }) => !unrouted).map(lineOf)}
        empty="No request to a registered path was rejected."
      />
      {scanned.length > 0 && (
        <details class="card">
          <summary>
            Requests to other paths:{' '}
            {formatCount(scanned.reduce((sum, one) => sum + Number(one.requests), 0))}
          </summary>
          <CauseTable label="Rejected requests to other paths" rows={requests} lines={scanned.map(lineOf)} />
        </details>
      )}
    </>
  );
}

interface PageProps {
  rows: readonly Rejected[];
  times: readonly RejectedAt[];
  unit: 'minute' | 'hour';
  form: FilterForm;
}

export function RejectionsPage({ rows, times, unit, form }: PageProps) {
  return (
    <>
      <p>
        Requests that receivers responded to with an error. Counts are a few seconds old, and kept for a week.
      </p>
      <Filters action="/console/rejections" {...form} />
      <RejectedTable rows={rows} />
      <h2>By {unit}</h2>
      <Table
        label={`Rejected requests of each ${unit}, last first`}
        rows={times}
        empty="No rejected requests."
        columns={[
          { head: unit === 'hour' ? 'Hour' : 'Minute', cell: ({ at }) => <Moment at={at} /> },
          { head: 'Family', cell: ({ family }) => words(family) },
          { head: 'Status', cell: ({ status }) => status },
          { head: 'Reason', cell: ({ reason, status }) => reasonOf(reason, status).meaning, wide: true },
          { head: 'Requests', cell: ({ requests }) => formatCount(requests), numeric: true },
        ]}
      />
    </>
  );
}
