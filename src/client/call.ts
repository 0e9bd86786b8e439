import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { withDeadline } from '../common/timeouts.ts';
import type { Operation } from './operation.ts';
import { registrationHeaders } from './registration-operations.ts';
import { type Endpoint, sendRequest } from './send-request.ts';
import * as errors from './service-errors.ts';
import { getToken, type TokenSource } from './token-source.ts';

/** When a failed attempt is retried. */
export interface RetryPolicy {
  /** Attempts in total, the first included. */
  readonly maxAttempts: number;
  /** Upper bound of the first pause, milliseconds. It doubles each time up to 5 s; the pause is random below it. */
  readonly firstPauseMs: number;
}

export interface Connection extends Endpoint {
  readonly token: TokenSource;
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

/** The total time of a read, also while the platform limits the rate of calls. */
const readTimeoutMs = 300_000;

/**
 * One call of an operation: validated, authorised, retried where that is safe, within its time-out.
 *
 * @returns the response, see `ResponseOf`
 * @throws ServiceError; the reason of the options' signal
 */
export async function call(
  connection: Connection,
  operation: Operation,
  input: unknown,
  options: RegistrationOptions,
): Promise<unknown> {
  const { group, method, repeatable } = operation;
  const context = { operation: operation.name, transactionId: transactionOf(input) };
  const fields = operation.request && parse(operation.request, input, context);
  const headers = group === 'registration' ? parseHeaders(options, context) : {};
  const totalMs = group === 'reading' ? readTimeoutMs : 3 * connection.timeoutMs;
  let mayHaveReached = false;

  async function attempt(signal: AbortSignal, refused?: RefusedToken): Promise<unknown> {
    const token = await getToken(connection.token, signal, context, refused?.token);
    if (token === refused?.token) throw refused.error;
    const reachedBefore = mayHaveReached;
    mayHaveReached = true;
    try {
      return await sendRequest(connection, operation, { fields, headers, token, context }, signal);
    } catch (error) {
      if (error instanceof errors.Unavailable && !error.mayHaveReached) mayHaveReached = reachedBefore;
      if (!(error instanceof errors.Unauthorized) || refused) throw error;
      if (repeatable) return attempt(signal, { token, error });
      // The 401 may be about the OTP, which works once. The next call has a new token.
      await getToken(connection.token, signal, context, token).catch(() => {});
      throw error;
    }
  }

  async function attempts(signal: AbortSignal): Promise<unknown> {
    const end = performance.now() + totalMs;
    for (let count = 1, mayBeDone = false; ; count++) {
      try {
        return await attempt(signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof errors.ServiceError)) throw error;
        // An attempt whose response was lost may have deleted it.
        if (method === 'DELETE' && mayBeDone && error.status === 404) return undefined;
        mayBeDone ||= error instanceof errors.Unavailable && error.mayHaveReached;
        const pauseMs = pauseBeforeRetry(error, operation, count, connection.retry);
        if (pauseMs === undefined || performance.now() + pauseMs >= end) throw error;
        await sleep(pauseMs, undefined, { signal });
      }
    }
  }

  return withDeadline(totalMs, options.signal, attempts, () => {
    return new errors.Unavailable(`timed out after ${totalMs} ms`, context, 'time-out', mayHaveReached);
  });
}

interface RefusedToken {
  readonly token: string;
  readonly error: errors.Unauthorized;
}

/**
 * Milliseconds to wait before the retry, or undefined for none. A repeatable operation is retried after a 429, a 5xx, a
 * time-out or a network error; another one only if its request never reached the platform. A read goes on while the platform
 * limits the rate of calls.
 */
function pauseBeforeRetry(
  error: errors.ServiceError,
  { group, repeatable }: Operation,
  attempt: number,
  { maxAttempts, firstPauseMs }: RetryPolicy,
): number | undefined {
  const isRateLimited = error.status === 429 || error.code === 'rate_limit_exceeded';
  const isWaiting = group === 'reading' && isRateLimited;
  const isRetryable =
    error instanceof errors.Unavailable ? repeatable || !error.mayHaveReached : repeatable && isRateLimited;
  if (!isWaiting && (attempt >= maxAttempts || !isRetryable)) return undefined;
  const bound = Math.min(firstPauseMs * 2 ** (attempt - 1), isWaiting ? 60_000 : 5_000);
  return (error.retryAfterMs ?? 0) + Math.random() * bound;
}

function parse<T>(schema: z.ZodType<T>, input: unknown, context: errors.ErrorContext): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((i) => ({ path: i.path.join('.') || 'input', message: i.message }));
  throw new errors.RefusedInput(issues, context);
}

function parseHeaders({ ptId, partnerPtId, hipId }: RegistrationOptions, context: errors.ErrorContext) {
  const options = { 'X-Pt-Id': ptId, 'X-Partner-Pt-Id': partnerPtId, 'X-Hip-Id': hipId };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(parse(registrationHeaders, options, context)))
    if (value !== undefined) headers[name] = value;
  return headers;
}

function transactionOf(input: unknown): string | undefined {
  const id = (input as { txn_id?: unknown } | null | undefined)?.txn_id;
  return typeof id === 'string' ? id : undefined;
}
