import { type ServerResponse, STATUS_CODES } from 'node:http';
import {
  DataRefused,
  NotJson,
  Rejection,
  TenantNotAllowed,
  UnsupportedMedia,
} from '../../callbacks/rejection.ts';
import { TooManyRequests } from '../../common/rate-limit.ts';
import { Unavailable } from '../store/errors.ts';

/** Its message is for the sender, and its name is the reason in the log. */
class RequestError extends Error {
  override name = this.constructor.name;
}

export class SignatureMissing extends RequestError {}
export class SignatureWrong extends RequestError {}
export class SignatureStale extends RequestError {}
export class AddressNotAllowed extends RequestError {}
export class NotAdmin extends RequestError {}
export class QueryInvalid extends RequestError {}
export class CursorUnknown extends RequestError {}
export class NotFound extends RequestError {}
export class MethodNotAllowed extends RequestError {}
export class BodyTooLarge extends RequestError {}

type ErrorType = abstract new (...args: never[]) => Error;

interface ErrorStatus {
  meaning: string;
  /** None where Node itself sends it. */
  errors: readonly ErrorType[];
}

/** The only place that decides which error is which response. docs/openapi.json, the metrics and docs/security.md follow it. */
const table: Record<number, ErrorStatus> = {
  400: {
    meaning:
      'The body is not JSON in UTF-8, or the request is not HTTP; at `/changes`, a parameter is invalid',
    errors: [NotJson, QueryInvalid],
  },
  401: {
    meaning: 'The signature is missing, wrong or stale; at `/metrics` and `/changes`, the token',
    errors: [SignatureMissing, SignatureWrong, SignatureStale, NotAdmin],
  },
  403: {
    meaning: 'The address, the client or the business is not on its list',
    errors: [AddressNotAllowed, TenantNotAllowed],
  },
  404: { meaning: 'Nothing is served at this path', errors: [NotFound] },
  405: { meaning: 'The method is not POST', errors: [MethodNotAllowed] },
  408: { meaning: 'The request was not complete in time', errors: [] },
  410: {
    meaning: 'The cursor is of another history, as after a restore: read from the beginning',
    errors: [CursorUnknown],
  },
  413: { meaning: 'The body is too large', errors: [BodyTooLarge] },
  415: {
    meaning: 'The body is not application/json, not in UTF-8, or compressed',
    errors: [UnsupportedMedia],
  },
  422: {
    meaning:
      'The body is not a valid callback, or its event belongs to another path; the body is stored in quarantine',
    errors: [Rejection],
  },
  429: { meaning: 'Too many refused attempts from this address', errors: [TooManyRequests] },
  431: { meaning: 'The request headers are too large', errors: [] },
  503: {
    meaning: 'No store can keep the callback now, or the receiver has an error (see its log)',
    errors: [Unavailable],
  },
};

export const errorStatuses: Record<string, string> = Object.fromEntries(
  Object.entries(table).map(([status, { meaning }]) => [status, meaning]),
);

/** At the path of a callback: 410 is of the feed of changes. */
export const errorsOfCallbacks = Object.fromEntries(
  Object.entries(errorStatuses).filter(([status]) => status !== '410'),
);

function headersOf(error: unknown, status: number): Record<string, string> {
  if (status === 401) return { 'WWW-Authenticate': error instanceof NotAdmin ? 'Bearer' : 'Signature' };
  if (status === 405) return { Allow: 'POST' };
  if (error instanceof TooManyRequests) return { 'Retry-After': String(error.retryAfterS) };
  return status === 503 ? { 'Retry-After': '5' } : {};
}

/** The faults of a callback. PostgreSQL's words are not repeated. */
function faultsOf(error: unknown, status: number) {
  if (status !== 422 || !(error instanceof Rejection)) return undefined;
  return error instanceof DataRefused ? [] : error.errors;
}

export function sendJson(res: ServerResponse, status: number, body: object): void {
  send(res, status, 'application/json', JSON.stringify(body));
}

/**
 * Sends an error as a problem document (RFC 9457), whose title is the phrase of its status. An error that the table does not
 * have is the store's fault, and its message is not sent.
 */
export function sendProblem(res: ServerResponse, error: unknown): { status: number; isKnown: boolean } {
  const row = Object.entries(table).find(([, { errors }]) => errors.some((type) => error instanceof type));
  const status = Number(row?.[0] ?? 503);
  if (res.headersSent) {
    // Nobody may take half a response for a whole one.
    if (!res.writableEnded) res.destroy();
  } else {
    for (const [name, value] of Object.entries(headersOf(error, status))) res.setHeader(name, value);
    const detail = row && error instanceof Error ? error.message : undefined;
    const problem = { type: 'about:blank', title: STATUS_CODES[status], status, detail };
    const text = JSON.stringify({ ...problem, errors: faultsOf(error, status) });
    send(res, status, 'application/problem+json', text);
  }
  return { status, isKnown: row !== undefined };
}

export function send(res: ServerResponse, status: number, type: string, text: string): void {
  const length = String(Buffer.byteLength(text));
  res.writeHead(status, ['Content-Type', type, 'Content-Length', length, 'Cache-Control', 'no-store']);
  res.end(text);
}
