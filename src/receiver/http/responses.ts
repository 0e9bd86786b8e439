import { type ServerResponse, STATUS_CODES } from 'node:http';
import {
  DataRefused,
  type FieldError,
  NotJson,
  Rejection,
  TenantNotAllowed,
  UnsupportedMedia,
} from '../../callbacks/rejection.ts';
import type { ErrorStatus } from '../../common/http-statuses.ts';
import { TooManyRequests } from '../../common/rate-limit.ts';
import { Unavailable } from '../store/errors.ts';
import * as request from './errors.ts';

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
