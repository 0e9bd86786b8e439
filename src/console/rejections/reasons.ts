import { type ErrorStatus, errorStatuses } from '../../http-statuses.ts';

interface Reason {
  meaning: string;
  action?: string;
  /** Why the body is in the quarantine. */
  quarantine?: string;
}

const resent = 'The sender resends after any error.';
const validated = 'Open the bodies: correct and replay them, or report the change to the service.';

/** What the name of an error means, and what to do. */
const reasons: Record<string, Reason> = {
  SignatureMissing: {
    meaning: 'It was not signed.',
    action:
      'Have the sender sign; see whether a proxy removes SIGNATURE_HEADER, and whether that has the right name.',
  },
  SignatureWrong: {
    meaning: 'The signature matches no signing key.',
    action:
      'The signing key differs, or a proxy changes the body: compare SIGNING_KEYS with the key of the service.',
  },
  SignatureStale: {
    meaning: 'It was signed too long ago, or in the future.',
    action: 'Compare the clocks of both sides; see whether a proxy delays requests (SIGNATURE_TOLERANCE_S).',
  },
  AddressNotAllowed: {
    meaning: 'The address is not in ALLOWED_IPS.',
    action: 'Add the sender’s network. If every address is that of your proxy, set TRUST_PROXY.',
  },
  TenantNotAllowed: {
    meaning: 'The client or the business is not on its list.',
    action:
      'If it is yours, add it to ALLOWED_CLIENT_IDS or ALLOWED_BUSINESS_IDS; it is resent, not in quarantine.',
  },
  BodyTooLarge: {
    meaning: 'The body is larger than BODY_LIMIT.',
    action: 'If such callbacks are legitimate, raise BODY_LIMIT, and the limit of the proxy.',
  },
  NotJson: { meaning: 'The body is not JSON.', action: validated, quarantine: 'not_json' },
  InvalidCallback: {
    meaning: 'A field is missing or has another type.',
    action: validated,
    quarantine: 'invalid',
  },
  UnknownEvent: {
    meaning: 'The event is unknown.',
    action: 'Subscribe EVENTS_PATH to it, or update the receiver; then replay.',
    quarantine: 'invalid',
  },
  WrongFamily: {
    meaning: 'The event belongs to another path.',
    action: 'Correct the address at the service; the bodies can be replayed at once.',
    quarantine: 'wrong_family',
  },
  DataRefused: {
    meaning: 'PostgreSQL cannot store the data.',
    action: validated,
    quarantine: 'refused_by_database',
  },
  TooManyRequests: {
    meaning: 'The address sent too many requests, or too many rejected ones.',
    action: `See what it was rejected for before. Limits: RATE_LIMIT, REJECTION_LIMIT. ${resent}`,
  },
  Busy: { meaning: 'Too many large bodies were in progress.', action: resent },
  Unavailable: {
    meaning: 'No store was available.',
    action: `See the health checks, and the log at that time. ${resent}`,
  },
  MethodNotAllowed: {
    meaning: 'It was not a POST.',
    action: 'Somebody opened the address in a browser, perhaps.',
  },
  NotFound: {
    meaning: 'Nothing is served at the path.',
    action: 'If it was the service: compare its registered addresses.',
  },
};

/** What a rejection means, by the name of its error. */
export const reasonOf = (reason: string, status: number): Reason =>
  reasons[reason] ?? { meaning: `${errorStatuses[status as ErrorStatus] ?? reason}.` };
