import { type Rejected, reasonOf } from '../../store/rejections.ts';
import { hrefTo } from '../ui/links.ts';
import { formatCount } from '../ui/values.tsx';
import { CauseTable } from './causes.tsx';

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
