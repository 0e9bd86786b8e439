/** The errors that the handler of a callback responds with. */
const ofCallbacks = {
  400: 'The body is not JSON in UTF-8, or the request is not HTTP; at `/changes`, a parameter is invalid',
  401: 'The signature is missing, wrong or stale; at `/metrics` and `/changes`, the token',
  403: 'The address, the client or the business is not on its list',
  405: 'The method is not POST',
  408: 'The request was not complete in time',
  413: 'The body is too large',
  415: 'The body is not application/json, not in UTF-8, or compressed',
  422: 'The body is not a valid callback, or its event belongs to another path; the body is stored in quarantine',
  429: 'Too many refused attempts from this address',
  503: 'No store can keep the callback now, too much is sent at once, or the receiver has an error (see its log)',
};

/** The errors of requests that never reach a handler. */
const ofOtherRequests = {
  404: 'Nothing is served at this path',
  431: 'The request headers are too large',
};

/** The errors of the feed of changes. */
const ofChanges = {
  410: 'The cursor is of another history, as after a restore: read from the beginning',
};

/**
 * Every HTTP status that reports an error, with its meaning. The responses, docs/openapi.json, the metrics and
 * the table of docs/security.md follow it. A title is the standard phrase of its status, as RFC 9457 asks.
 */
export const errorStatuses = { ...ofCallbacks, ...ofOtherRequests, ...ofChanges };

export type ErrorStatus = keyof typeof errorStatuses;

/** What a request to the path of a callback may get, by status. */
export const errorsOfCallbacks = { ...ofCallbacks, ...ofOtherRequests };

/** Every status that a callback may get. */
export const callbackStatuses: readonly number[] = [200, ...Object.keys(ofCallbacks).map(Number)];
