import type { ServerResponse } from 'node:http';
import { Unavailable } from '../intake/delivery.ts';
import { DataRefused, type FieldError, NotJson, Rejection, TenantNotAllowed } from '../intake/rejection.ts';
import { TooManyRequests } from '../rate-limit.ts';
import { AddressNotAllowed, SignatureMissing, SignatureStale, SignatureWrong } from './access/errors.ts';
import { BodyTooLarge, Busy, MethodNotAllowed, NotAdmin, NotFound, UnsupportedMedia } from './errors.ts';

interface Problem {
  status: number;
  title: string;
  headers?: Record<string, string>;
  errors?: readonly FieldError[];
}

type Row<E extends Error> = [type: abstract new (...args: never[]) => E, problem: (error: E) => Problem];
const row = <E extends Error>(...cells: Row<E>) => cells as unknown as Row<Error>;

const unauthorized = (scheme: string) => (): Problem => ({
  status: 401,
  title: 'Not authenticated',
  headers: { 'WWW-Authenticate': scheme },
});

/** The one place that decides which error is which response. */
const table = [
  row(NotJson, () => ({ status: 400, title: 'Not JSON' })),
  row(SignatureMissing, unauthorized('Signature')),
  row(SignatureWrong, unauthorized('Signature')),
  row(SignatureStale, unauthorized('Signature')),
  row(NotAdmin, unauthorized('Bearer')),
  row(AddressNotAllowed, () => ({ status: 403, title: 'Not allowed' })),
  row(TenantNotAllowed, () => ({ status: 403, title: 'Not allowed' })),
  row(NotFound, () => ({ status: 404, title: 'Not found' })),
  row(MethodNotAllowed, ({ allow }) => ({
    status: 405,
    title: 'Method not allowed',
    headers: { Allow: allow },
  })),
  // The rest of the body is not read, so the connection is of no more use.
  row(BodyTooLarge, () => ({ status: 413, title: 'Body too large', headers: { Connection: 'close' } })),
  row(UnsupportedMedia, () => ({ status: 415, title: 'Unsupported media type' })),
  row(DataRefused, () => ({ status: 422, title: 'Invalid callback', errors: [] })),
  row(Rejection, ({ errors }) => ({ status: 422, title: 'Invalid callback', errors })),
  row(TooManyRequests, ({ retryAfterS }) => ({
    status: 429,
    title: 'Too many requests',
    headers: { 'Retry-After': String(retryAfterS) },
  })),
  row(Busy, () => ({ status: 503, title: 'Unavailable', headers: { 'Retry-After': '5' } })),
  row(Unavailable, () => ({ status: 503, title: 'Unavailable', headers: { 'Retry-After': '5' } })),
];

/** Sends a JSON response. */
export function sendJson(res: ServerResponse, status: number, body: object): void {
  send(res, status, 'application/json', body);
}

/**
 * Sends an error as RFC 9457 says. An error that the table does not know is "internal error" and no more.
 *
 * @returns the status
 */
export function sendProblem(res: ServerResponse, error: unknown): number {
  const known = table.find(([type]) => error instanceof type);
  const { status, title, headers, errors }: Problem = known
    ? known[1](error as Error)
    : { status: 500, title: 'Internal error' };
  if (res.headersSent) return status;
  for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value);
  const detail = known ? (error as Error).message : undefined;
  send(res, status, 'application/problem+json', { type: 'about:blank', title, status, detail, errors });
  return status;
}

function send(res: ServerResponse, status: number, type: string, body: object): void {
  const text = JSON.stringify(body);
  res.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  res.end(text);
}
