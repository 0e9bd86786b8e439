import { type ServerResponse, STATUS_CODES } from 'node:http';
import {
  DataRefused,
  type FieldError,
  NotJson,
  Rejection,
  TenantNotAllowed,
  UnsupportedMedia,
} from '../../callbacks/rejection.ts';
import { TooManyRequests } from '../../common/rate-limit.ts';
import { Unavailable } from '../store/errors.ts';
import * as request from './request-errors.ts';

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

type ErrorStatus = keyof typeof errorStatuses;

/** What a request to the path of a callback may get, by status. */
export const errorsOfCallbacks = { ...ofCallbacks, ...ofOtherRequests };

/** Every status that a callback may get. */
export const callbackStatuses: readonly number[] = [200, ...Object.keys(ofCallbacks).map(Number)];

interface Details {
  headers?: Record<string, string>;
  errors?: readonly FieldError[];
}

type ErrorType<E extends Error> = abstract new (...args: never[]) => E;

function row<E extends Error>(status: ErrorStatus, types: ErrorType<E>[], details?: (error: E) => Details) {
  return types.map((type) => ({ type, status, details: details as ((error: Error) => Details) | undefined }));
}
const withHeader = (name: string, value: string) => () => ({ headers: { [name]: value } });
const later = withHeader('Retry-After', '5');

/** The only place that decides which error is which response. */
const table = [
  row(400, [NotJson, request.QueryInvalid]),
  row(
    401,
    [request.SignatureMissing, request.SignatureWrong, request.SignatureStale],
    withHeader('WWW-Authenticate', 'Signature'),
  ),
  row(401, [request.NotAdmin], withHeader('WWW-Authenticate', 'Bearer')),
  row(403, [request.AddressNotAllowed, TenantNotAllowed]),
  row(404, [request.NotFound]),
  row(405, [request.MethodNotAllowed], withHeader('Allow', 'POST')),
  row(410, [request.CursorUnknown]),
  row(413, [request.BodyTooLarge]),
  row(415, [UnsupportedMedia]),
  row(422, [DataRefused], () => ({ errors: [] })),
  row(422, [Rejection], ({ errors }) => ({ errors })),
  row(429, [TooManyRequests], ({ retryAfterS }) => ({ headers: { 'Retry-After': String(retryAfterS) } })),
  row(503, [request.ClockUnknown, request.TooManyBodies, Unavailable], later),
].flat();

export function sendJson(res: ServerResponse, status: number, body: object): void {
  send(res, status, 'application/json', JSON.stringify(body));
}

/**
 * Sends an error as a problem document (RFC 9457). One that the table does not know is the store's fault, and its message is
 * not told.
 *
 * @returns the status, and whether the table knows the error
 */
export function sendProblem(res: ServerResponse, error: unknown) {
  const known = table.find(({ type }) => error instanceof type);
  const status = known?.status ?? 503;
  const detail = known && (error as Error).message;
  const { headers = {}, errors }: Details = (known ? known.details?.(error as Error) : later()) ?? {};
  if (res.headersSent) {
    // Nobody may take half a response for a whole one.
    if (!res.writableEnded) res.destroy();
  } else {
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    const problem = { type: 'about:blank', title: STATUS_CODES[status], status, detail, errors };
    send(res, status, 'application/problem+json', JSON.stringify(problem));
  }
  return { status, isKnown: known !== undefined };
}

/** Sends a text. A cache in between must not answer for the receiver. */
export function send(res: ServerResponse, status: number, type: string, text: string): void {
  const length = String(Buffer.byteLength(text));
  res.writeHead(status, ['Content-Type', type, 'Content-Length', length, 'Cache-Control', 'no-store']);
  res.end(text);
}
