import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { ErrorStatus } from '../http-statuses.ts';
import { Unavailable } from '../intake/delivery.ts';
import { DataRefused, type FieldError, NotJson, Rejection, TenantNotAllowed } from '../intake/rejection.ts';
import { TooManyRequests } from '../rate-limit.ts';
import {
  AddressNotAllowed,
  BodyTooLarge,
  Busy,
  MethodNotAllowed,
  NotAdmin,
  NotFound,
  SignatureMissing,
  SignatureStale,
  SignatureWrong,
  UnsupportedMedia,
} from './errors.ts';

interface Problem {
  status: ErrorStatus;
  headers?: Record<string, string>;
  errors?: readonly FieldError[];
}

type Row<E extends Error> = [type: abstract new (...args: never[]) => E, problem: (error: E) => Problem];
const row = <E extends Error>(...cells: Row<E>) => cells as unknown as Row<Error>;

const unauthorized = (scheme: string) => (): Problem => ({
  status: 401,
  headers: { 'WWW-Authenticate': scheme },
});
const forbidden = (): Problem => ({ status: 403 });
const unavailable = (): Problem => ({ status: 503, headers: { 'Retry-After': '5' } });

/** The only place that decides which error is which response. */
const table = [
  row(NotJson, () => ({ status: 400 })),
  row(SignatureMissing, unauthorized('Signature')),
  row(SignatureWrong, unauthorized('Signature')),
  row(SignatureStale, unauthorized('Signature')),
  row(NotAdmin, unauthorized('Bearer')),
  row(AddressNotAllowed, forbidden),
  row(TenantNotAllowed, forbidden),
  row(NotFound, () => ({ status: 404 })),
  row(MethodNotAllowed, ({ allow }) => ({ status: 405, headers: { Allow: allow } })),
  // The rest of the body is not read, so the connection cannot be used again.
  row(BodyTooLarge, () => ({ status: 413, headers: { Connection: 'close' } })),
  row(UnsupportedMedia, () => ({ status: 415 })),
  row(DataRefused, () => ({ status: 422, errors: [] })),
  row(Rejection, ({ errors }) => ({ status: 422, errors })),
  row(TooManyRequests, ({ retryAfterS }) => ({
    status: 429,
    headers: { 'Retry-After': String(retryAfterS) },
  })),
  row(Busy, unavailable),
  row(Unavailable, unavailable),
];

/** Sends a JSON response. */
export function sendJson(res: ServerResponse, status: number, body: object): void {
  send(res, status, 'application/json', body);
}

/**
 * Sends an error as a problem document (RFC 9457). An error that the table does not know is a 500 without details.
 *
 * @returns the status
 */
export function sendProblem(res: ServerResponse, error: unknown): ErrorStatus {
  const known = table.find(([type]) => error instanceof type);
  const { status, headers, errors }: Problem = known ? known[1](error as Error) : { status: 500 };
  if (res.headersSent) return status;
  for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value);
  const detail = known ? (error as Error).message : undefined;
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
  res.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  res.end(text);
}
