import { sql } from 'kysely';
import { useContext } from 'preact/hooks';
import { type ErrorStatus, errorStatuses } from '../../common/http-statuses.ts';
import { allOf } from '../store.ts';
import { VisitContext } from '../ui/context.ts';
import { type FilterForm, Filters } from '../ui/filters.tsx';
import { hrefTo, words } from '../ui/links.ts';
import { Table } from '../ui/table.tsx';
import { formatLocal } from '../ui/time.ts';
import { formatCount, Moment } from '../ui/values.tsx';

export interface Rejected {
  status: number;
  reason: string;
  /** Whether the path is not a registered one. */
  unrouted: boolean;
  requests: string;
  last: Date;
}

interface RejectionFilter {
  since: Date;
  until?: Date | undefined;
  family?: string | undefined;
  status?: string | undefined;
}

const matching = ({ since, until, family, status }: RejectionFilter) => sql`
  rejected_requests where ${allOf([
    sql`minute >= date_trunc('minute', ${since}::timestamptz)`,
    until && sql`minute < ${until}`,
    family && sql`family = ${family}`,
    status && sql`status = ${status}::int`,
  ])}`;

/** Rejected requests by status and reason, the most frequent first. */
export const rejectedByReason = (filter: RejectionFilter) => sql<Rejected>`
  select status, reason, family = 'none' as unrouted, sum(count)::text as requests, max(minute) as last
  from ${matching(filter)} group by 1, 2, 3 order by unrouted, sum(count) desc, reason limit 100`;

interface RejectedAt extends Pick<Rejected, 'status' | 'reason' | 'requests'> {
  at: Date;
  family: string;
}

/** Rejected requests of each minute or hour, the last first. */
export const rejectedByTime = (filter: RejectionFilter, unit: 'minute' | 'hour') => sql<RejectedAt>`
  select ${unit === 'hour' ? sql`reporting.hour(minute)` : sql`minute`} as at, family, status, reason,
         sum(count)::text as requests
  from ${matching(filter)} group by 1, 2, 3, 4 order by at desc, family, status, reason limit 500`;

type Reason = [meaning: string, action?: string, quarantine?: string];

const resent = 'The sender resends after any error.';
const validate = 'Open the bodies: correct and replay them, or report the change to the service.';

/** By the name of the error: what it means, what to do, and why the body is in the quarantine, if it is. */
const reasons: Record<string, Reason> = {
  SignatureMissing: [
    'It was not signed.',
    'See whether the sender signs, or a proxy removes SIGNATURE_HEADER.',
  ],
  SignatureWrong: [
    'The signature matches no signing key.',
    'The signing key differs, or a proxy changes the body: compare SIGNING_KEYS with the service.',
  ],
  SignatureStale: ['It was signed too long ago, or ahead of the clock.', 'Compare the clocks of both sides.'],
  AddressNotAllowed: [
    'The address is not in ALLOWED_IPS.',
    'Add the sender’s network. If every address is that of your proxy, set TRUST_PROXY.',
  ],
  TenantNotAllowed: [
    'The client or the business is not on its list.',
    'If it is yours, add it to ALLOWED_CLIENT_IDS or ALLOWED_BUSINESS_IDS. Such bodies are not in the quarantine.',
  ],
  BodyTooLarge: [
    'The body is larger than BODY_LIMIT.',
    'If it is legitimate, raise BODY_LIMIT, and that of a proxy: abha.hiu_data_push contains health records.',
  ],
  BodyTooSlow: ['The body arrived too slowly.', `See whether the network loses packets. ${resent}`],
  NotJson: ['The body is not JSON.', validate, 'not_json'],
  InvalidCallback: ['A field is missing or has another type.', validate, 'invalid'],
  UnknownEvent: [
    'The event is unknown.',
    'Subscribe EVENTS_PATH to it, or update the receiver; then replay.',
    'invalid',
  ],
  WrongFamily: [
    'The event belongs to another path.',
    'Correct the address at the platform, and replay.',
    'wrong_family',
  ],
  DataRefused: ['PostgreSQL cannot store the data.', validate, 'refused_by_database'],
  TooManyRequests: [
    'The address sent too many requests, or too many rejected ones.',
    `See what was rejected before. Limits: RATE_LIMIT, REJECTION_LIMIT. ${resent}`,
  ],
  Busy: ['Too many large bodies were in progress.', resent],
  Unavailable: ['No store was available.', `See the health checks, and the log of that time. ${resent}`],
  NotFound: ['Nothing is served at the path.', 'If the platform sent it, compare its registered addresses.'],
};

const reasonOf = (reason: string, status: number): Reason =>
  reasons[reason] ?? [`${errorStatuses[status as ErrorStatus] ?? reason}.`];

interface RejectedProps {
  rows: readonly Rejected[];
  since: Date;
}

/** Rejected requests by status and reason, with what to do; those to other paths in a line that opens. */
export function RejectedTable({ rows, since }: RejectedProps) {
  const scanned = rows.filter(({ unrouted }) => unrouted);
  return (
    <>
      <ByReason
        label="Rejected requests by reason"
        rows={rows.filter(({ unrouted }) => !unrouted)}
        since={since}
        empty="No request to a registered path was rejected."
      />
      {scanned.length > 0 && (
        <details class="card">
          <summary>
            Requests to other paths:{' '}
            {formatCount(scanned.reduce((sum, one) => sum + Number(one.requests), 0))}
          </summary>
          <ByReason label="Rejected requests to other paths" rows={scanned} since={since} />
        </details>
      )}
    </>
  );
}

function ByReason({ label, rows, since, empty }: RejectedProps & { label: string; empty?: string }) {
  const { timezone } = useContext(VisitContext);
  const from = formatLocal(since.getTime(), timezone);
  return (
    <Table
      label={label}
      rows={rows}
      empty={empty}
      columns={[
        { head: 'Status', cell: ({ status }) => status },
        {
          head: 'Reason',
          cell: ({ reason, status }) => {
            const [meaning, action, quarantine] = reasonOf(reason, status);
            return (
              <>
                <strong>{meaning}</strong> {action}{' '}
                {quarantine && (
                  <a href={hrefTo('/quarantine', { reason: quarantine, since: from })}>
                    Bodies in quarantine
                  </a>
                )}
              </>
            );
          },
          wide: true,
        },
        { head: 'Requests', cell: ({ requests }) => formatCount(requests), numeric: true },
        { head: 'Last', cell: ({ last }) => <Moment at={last} /> },
      ]}
    />
  );
}

interface PageProps extends RejectedProps {
  times: readonly RejectedAt[];
  unit: 'minute' | 'hour';
  form: FilterForm;
}

export function RejectionsPage({ rows, since, times, unit, form }: PageProps) {
  return (
    <>
      <p>
        Requests that receivers responded to with an error. Counts are a few seconds old, and kept for a week.
      </p>
      <Filters action="/console/rejections" {...form} />
      <RejectedTable rows={rows} since={since} />
      <h2>By {unit}</h2>
      <Table
        label={`Rejected requests of each ${unit}, last first`}
        rows={times}
        empty="No rejected requests."
        columns={[
          { head: unit === 'hour' ? 'Hour' : 'Minute', cell: ({ at }) => <Moment at={at} /> },
          { head: 'Family', cell: ({ family }) => words(family) },
          { head: 'Status', cell: ({ status }) => status },
          { head: 'Reason', cell: ({ reason, status }) => reasonOf(reason, status)[0], wide: true },
          { head: 'Requests', cell: ({ requests }) => formatCount(requests), numeric: true },
        ]}
      />
    </>
  );
}
