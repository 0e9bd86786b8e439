import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { type ErrorContext, RefusedInput, ServiceError, Unauthorized, Unavailable } from './errors.ts';
import type { Operation, ResponseOf } from './operations.ts';
import { readResponse } from './read-response.ts';
import { secretsOf } from './redact.ts';
import { registrationHeaders } from './registration-schemas.ts';
import { pauseBeforeRetry, type RetryPolicy } from './retry.ts';
import { NoResponse, sendRequest } from './send-request.ts';
import { getToken, type TokenSource } from './token-source.ts';
import { TimedOut, withTimeout } from './with-timeout.ts';

export interface Connection {
  readonly baseUrl: URL;
  readonly token: TokenSource;
  readonly serviceIdentifierField: string;
  readonly timeoutMs: number;
  readonly clientId: string | undefined;
  readonly retry: RetryPolicy;
}

/** Options of every operation. */
export interface CallOptions {
  /** Ends the call at once; it then raises the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of the registration operations: the optional headers of section 4.1. */
export interface RegistrationOptions extends CallOptions {
  /** X-Pt-Id: the platform's user identifier (OID). */
  readonly ptId?: string;
  /** X-Partner-Pt-Id: the partner's user identifier. */
  readonly partnerPtId?: string;
  /** X-Hip-Id: the partner's HIP identifier. */
  readonly hipId?: string;
}

/** How long a read waits in total, also while the platform limits the rate of calls. */
const readTimeoutMs = 300_000;

/** One call of an operation: validated, authorised, retried where that is safe, within its time-out. */
export async function call<O extends Operation>(
  connection: Connection,
  operation: O,
  input: unknown,
  options: RegistrationOptions,
): Promise<ResponseOf<O>> {
  const { baseUrl, timeoutMs, serviceIdentifierField, clientId, retry } = connection;
  const context = { operation: operation.name, transactionId: transactionOf(input) };
  const request = parse(operation.request, input, context) as object;
  const headers = operation.group === 'registration' ? parseHeaders(options, context) : {};
  const totalTimeoutMs = operation.group === 'reading' ? readTimeoutMs : 3 * timeoutMs;
  let sent = false;

  async function attempt(outer: AbortSignal, rejected?: RejectedToken): Promise<ResponseOf<O>> {
    const token = await getToken(connection.token, outer, context, rejected?.token);
    if (rejected && token === rejected.token) throw rejected.error;
    const sentBefore = sent;
    try {
      const response = await withTimeout(timeoutMs, outer, (signal) => {
        sent = true;
        const authorised = { ...headers, ...tokenHeaders(operation, token, clientId) };
        return sendRequest(baseUrl, operation, request, authorised, signal);
      });
      const secrets = [token, ...secretsOf(request), ...Object.values(headers)];
      return readResponse(response, operation, serviceIdentifierField, secrets, context) as ResponseOf<O>;
    } catch (error) {
      // A 401 means that the request was not applied (RFC 9110), so a registration may be sent again too.
      if (error instanceof Unauthorized && !rejected) return attempt(outer, { token, error });
      if (error instanceof NoResponse && !error.mayHaveReached) sent = sentBefore;
      throw error;
    }
  }

  async function attempts(signal: AbortSignal) {
    const end = performance.now() + totalTimeoutMs;
    let mayBeDone = false;
    for (let count = 1; ; count++) {
      try {
        return await attempt(signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = toServiceError(error, context, sent);
        // An attempt whose response was lost may have deleted it.
        if (operation.method === 'DELETE' && mayBeDone && failure.status === 404) {
          return undefined as ResponseOf<O>;
        }
        mayBeDone ||= failure instanceof Unavailable && failure.mayHaveReached;
        const pauseMs = pauseBeforeRetry(failure, operation, count, retry);
        if (pauseMs === undefined || performance.now() + pauseMs >= end) throw failure;
        await sleep(pauseMs, undefined, { signal });
      }
    }
  }

  try {
    return await withTimeout(totalTimeoutMs, options.signal, attempts);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw toServiceError(error, context, sent);
  }
}

/** The older read operations take the token in `auth`, the newer ones as a bearer token. */
function tokenHeaders({ group }: Operation, token: string, clientId: string | undefined) {
  const authorization = `Bearer ${token}`;
  if (group !== 'reading') return { authorization };
  return { authorization, auth: token, ...(clientId !== undefined && { 'client-id': clientId }) };
}

type RejectedToken = { readonly token: string; readonly error: Unauthorized };

/** The error of an attempt; an error that is none of ours is raised as it is. */
export function toServiceError(error: unknown, context: ErrorContext, mayHaveReached: boolean): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof TimedOut || error instanceof NoResponse)) throw error;
  const reason = error instanceof TimedOut ? 'time-out' : 'network';
  return new Unavailable(error.message, context, { reason, mayHaveReached });
}

function parse<T>(schema: z.ZodType<T>, input: unknown, context: ErrorContext): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((i) => ({ path: i.path.join('.') || 'input', message: i.message }));
  throw new RefusedInput(issues, context);
}

function parseHeaders(options: RegistrationOptions, context: ErrorContext): Record<string, string> {
  const given = Object.entries({
    'X-Pt-Id': options.ptId,
    'X-Partner-Pt-Id': options.partnerPtId,
    'X-Hip-Id': options.hipId,
  }).filter(([, value]) => value !== undefined);
  return { ...parse(registrationHeaders, Object.fromEntries(given), context) } as Record<string, string>;
}

function transactionOf(input: unknown): string | undefined {
  const id = (input as { txn_id?: unknown } | null | undefined)?.txn_id;
  return typeof id === 'string' ? id : undefined;
}
