import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { withDeadline } from '../common/timeouts.ts';
import type { Operation } from './operation.ts';
import { registrationHeaders } from './registration-operations.ts';
import { type Endpoint, sendRequest } from './send-request.ts';
import * as errors from './service-errors.ts';
import { getToken, type TokenSource } from './token-source.ts';

export interface RetryPolicy {
  readonly maxAttempts: number;
  /** Upper bound of the first pause, milliseconds. It doubles each time up to 5 s; the pause is random below it. */
  readonly firstPauseMs: number;
}

export interface Connection extends Endpoint {
  readonly token: TokenSource;
  readonly retry: RetryPolicy;
}

export interface CallOptions {
  /** Ends the call at once, with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The optional headers of section 4.1. */
export interface RegistrationOptions extends CallOptions {
  readonly ptId?: string;
  readonly partnerPtId?: string;
  readonly hipId?: string;
}

/** The total time of a read, also while the platform limits the rate of calls. */
const readTimeoutMs = 300_000;

const withTransaction = z.object({ txn_id: z.string() });

/**
 * Validates a request, and sends it until it succeeds, must not be sent again or its time is over.
 *
 * @returns the response, see `ResponseOf`
 * @throws ServiceError; the reason of the options' signal
 */
export async function call(
  connection: Connection,
  operation: Operation & { name: string },
  input: unknown,
  { ptId, partnerPtId, hipId, signal: outer }: RegistrationOptions,
): Promise<unknown> {
  const { group, method } = operation;
  const transactionId = withTransaction.safeParse(input).data?.txn_id;
  const context = { operation: operation.name, transactionId };
  const fields = operation.request && parse(operation.request, input, context);
  const callerIds = { 'X-Pt-Id': ptId, 'X-Partner-Pt-Id': partnerPtId, 'X-Hip-Id': hipId };
  const headers = group === 'registration' ? parse(registrationHeaders, callerIds, context) : {};
  const totalMs = group === 'reading' ? readTimeoutMs : 3 * connection.timeoutMs;
  let mayHaveReached = false;

  async function attempt(
    signal: AbortSignal,
    refused?: { token: string; error: errors.Unauthorized },
  ): Promise<unknown> {
    const token = await getToken(connection.token, signal, context, refused?.token);
    if (token === refused?.token) throw refused.error;
    const reachedBefore = mayHaveReached;
    mayHaveReached = true;
    try {
      return await sendRequest(connection, operation, { fields, headers, token, context }, signal);
    } catch (error) {
      if (error instanceof errors.Unavailable && !error.mayHaveReached) mayHaveReached = reachedBefore;
      if (!(error instanceof errors.Unauthorized) || refused) throw error;
      if (isRepeatable(operation)) return attempt(signal, { token, error });
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

  return withDeadline(totalMs, outer, attempts, () => {
    return new errors.Unavailable(`timed out after ${totalMs} ms`, context, 'time-out', mayHaveReached);
  });
}

// An OTP works once, and a second subscription is an error.
const isRepeatable = ({ method }: Operation) => method !== 'POST';

function pauseBeforeRetry(
  error: errors.ServiceError,
  operation: Operation,
  attempt: number,
  { maxAttempts, firstPauseMs }: RetryPolicy,
): number | undefined {
  const isRateLimited = error.status === 429 || error.code === 'rate_limit_exceeded';
  const isWaiting = operation.group === 'reading' && isRateLimited;
  const isUnsent = error instanceof errors.Unavailable && !error.mayHaveReached;
  const isTemporary = error instanceof errors.Unavailable || isRateLimited;
  const isRetryable = isUnsent || (isTemporary && isRepeatable(operation));
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
