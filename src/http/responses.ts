import { type ServerResponse, STATUS_CODES } from 'node:http';
import { CursorInvalid } from '../changes/cursor.ts';
import { CursorUnknown } from '../changes/read-page.ts';
import { FeedUnavailable } from '../changes/start-feed.ts';
import type { ErrorStatus } from '../common/http-statuses.ts';
import { TooManyRequests } from '../common/rate-limit.ts';
import { Unavailable } from '../intake/delivery.ts';
import * as request from '../receiver/http/errors.ts';
import {
  DataRefused,
  type FieldError,
  NotJson,
  Rejection,
  TenantNotAllowed,
} from '../receiver/intake/rejection.ts';

interface Details {
  headers?: Record<string, string>;
  errors?: readonly FieldError[];
}

type ErrorType<E extends Error> = abstract new (...args: never[]) => E;

function row<E extends Error>(status: ErrorStatus, types: ErrorType<E>[], details?: (error: E) => Details) {
  return types.map((type) => ({ type, status, details: details as ((error: Error) => Details) | undefined }));
}
const withHeader = (name: string, value: string) => () => ({ headers: { [name]: value } });

/** The only place that decides which error is which response. */
const table = [
  row(400, [NotJson, request.QueryInvalid, CursorInvalid]),
  row(400, [request.HostMissing], withHeader('Connection', 'close')),
  row(
    401,
    [request.SignatureMissing, request.SignatureWrong, request.SignatureStale],
    withHeader('WWW-Authenticate', 'Signature'),
  ),
  row(401, [request.NotAdmin], withHeader('WWW-Authenticate', 'Bearer')),
  row(403, [request.AddressNotAllowed, TenantNotAllowed]),
  row(404, [request.NotFound]),
  row(405, [request.MethodNotAllowed], withHeader('Allow', 'POST')),
  row(410, [CursorUnknown]),
  // The rest of the body is not read, so the connection cannot be used again.
  row(413, [request.BodyTooLarge], withHeader('Connection', 'close')),
  row(415, [request.UnsupportedMedia]),
  row(422, [DataRefused], () => ({ errors: [] })),
  row(422, [Rejection], ({ errors }) => ({ errors })),
  row(429, [TooManyRequests], ({ retryAfterS }) => ({ headers: { 'Retry-After': String(retryAfterS) } })),
  row(503, [request.ClockUnknown, Unavailable, FeedUnavailable], withHeader('Retry-After', '5')),
].flat();

export function sendJson(res: ServerResponse, status: number, body: object): void {
  send(res, status, 'application/json', body);
}

/**
 * Sends an error as a problem document (RFC 9457). An error that the table does not know is a 500 without details.
 *
 * @returns the status
 */
export function sendProblem(res: ServerResponse, error: unknown): ErrorStatus {
  const known = table.find(({ type }) => error instanceof type);
  const status = known?.status ?? 500;
  if (res.headersSent) return status;
  const { headers = {}, errors } = known?.details?.(error as Error) ?? {};
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  const detail = known && (error as Error).message;
  send(res, status, problemType, { ...problemOf(status), detail, errors });
  return status;
}

export const problemType = 'application/problem+json';

/** The problem document of a status, without details. */
export function problemOf(status: ErrorStatus) {
  return { type: 'about:blank', title: STATUS_CODES[status]!, status };
}

function send(res: ServerResponse, status: number, type: string, body: object): void {
  const text = JSON.stringify(body);
  // Node writes a flat list faster than an object. A cache in between must not answer for the receiver.
  const length = String(Buffer.byteLength(text));
  res.writeHead(status, ['Content-Type', type, 'Content-Length', length, 'Cache-Control', 'no-store']);
  res.end(text);
}
