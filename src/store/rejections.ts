import { sql } from 'kysely';
import { type ErrorStatus, errorStatuses } from '../common/http-statuses.ts';
import { allOf } from './read.ts';
import type { QuarantineReason } from './tables.ts';

export interface Rejected {
  status: number;
  reason: string;
  /** Whether the path is not a registered one. */
  unrouted: boolean;
  requests: string;
  first: Date;
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
  select status, reason, family = 'none' as unrouted, sum(count)::text as requests, min(minute) as first,
         max(minute) as last
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

/** What a rejection means, what to do, and why the body is in the quarantine, if it is. */
type Reason = [meaning: string, action?: string, quarantine?: QuarantineReason];

const resent = 'The sender resends after any error.';
const correct = 'Open one: correct and replay it, or report the change to the service.';

/** By the name of the error. */
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
  ClockUnknown: [
    'It was signed too long ago, or ahead of the receiver’s clock, which could not be compared with that of PostgreSQL.',
    `Compare the clocks. ${resent}`,
  ],
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
  NotJson: ['The body is not JSON.', correct, 'not_json'],
  InvalidCallback: ['A field is missing or has another type.', correct, 'invalid'],
  EventInFuture: [
    'The event time is more than a day in the future.',
    'Replay it when its time has come, or report the wrong time to the service.',
    'invalid',
  ],
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
  DataRefused: ['PostgreSQL cannot store the data.', correct, 'refused_by_database'],
  TooManyRequests: [
    'The address sent too many requests, or too many rejected ones.',
    `See what was rejected before. ${resent}`,
  ],
  Unavailable: ['No store was available.', `See the health checks, and the log of that time. ${resent}`],
  NotFound: ['Nothing is served at the path.', 'If the platform sent it, compare its registered addresses.'],
};

/** Why a request was rejected. */
export const reasonOf = (error: string, status: number) =>
  explain(reasons[error] ?? [`${errorStatuses[status as ErrorStatus] ?? error}.`]);

/** Why a body is in the quarantine. */
export const reasonOfBody = (reason: string) =>
  explain(Object.values(reasons).find(([, , quarantine]) => quarantine === reason) ?? [reason]);

const explain = ([meaning, action, quarantine]: Reason) => ({ meaning, action, quarantine });
