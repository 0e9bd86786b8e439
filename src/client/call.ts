import { setTimeout as pause } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { secretsOf } from './conceal.ts';
import { RefusedInput, ServiceError, Unauthorized, Unavailable } from './errors.ts';
import { exchange, NoAnswer } from './exchange.ts';
import type { Operation } from './operations.ts';
import { readAnswer } from './read-answer.ts';
import { registrationHeaders } from './registration-schemas.ts';
import { pauseBeforeRetry, type RetryPolicy } from './retry.ts';
import { TimeLimit, within } from './time-limit.ts';
import { NoToken, type TokenSource, takeToken } from './token-source.ts';

/** What all calls of one client share. */
export interface Connection {
  readonly dispatcher: Dispatcher;
  readonly baseUrl: URL;
  readonly token: TokenSource;
  readonly serviceIdentifierField: string;
  readonly timeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly retry: RetryPolicy;
  readonly onRetry: ((error: ServiceError, pauseMs: number) => void) | undefined;
}

/** Options that every operation takes. */
export interface CallOptions {
  /** Ends the call at once; it then raises the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of the registration operations: the optional headers of section 4.1. */
export interface RegistrationOptions extends CallOptions {
  /** X-Pt-Id: the service's user identifier (OID). */
  readonly ptId?: string;
  /** X-Partner-Pt-Id: the partner's user identifier. */
  readonly partnerPtId?: string;
  /** X-Hip-Id: the partner's HIP identifier. */
  readonly hipId?: string;
}

/** One call of an operation: validated, authorised, retried where that is safe, and over in time. */
export async function call<O extends Operation>(
  connection: Connection,
  operation: O,
  input: unknown,
  options: RegistrationOptions,
): Promise<z.output<O['response']>> {
  const name = operation.name;
  const request = parse(operation.request, input, { operation: name, transactionId: transactionOf(input) });
  const of = { operation: name, transactionId: transactionOf(request) };
  const headers = operation.registers ? headersOf(options, of) : {};
  let sent = false;

  async function attempt(outer: AbortSignal, refusal?: Refusal): Promise<z.output<O['response']>> {
    const token = await takeToken(connection.token, outer, refusal?.token).catch((error: unknown) => {
      if (!refusal || !(error instanceof NoToken)) throw error;
      throw new Unauthorized(`the service answered 401, and ${error.message}`, { ...of, status: 401 });
    });
    // The same token would be refused again.
    if (refusal && token === refusal.token) throw refusal.error;
    const { dispatcher, baseUrl, timeoutMs, serviceIdentifierField } = connection;
    const sentBefore = sent;
    try {
      const answer = await within(timeoutMs, outer, (signal) => {
        sent = true;
        const authorised = { ...headers, authorization: `Bearer ${token}` };
        return exchange(dispatcher, baseUrl, operation, request, authorised, signal);
      });
      const secrets = [token, ...secretsOf(request), ...Object.values(headers)];
      return readAnswer(answer, operation, serviceIdentifierField, secrets, of) as z.output<O['response']>;
    } catch (error) {
      // A 401 says that the request was not applied (RFC 9110), so a registration may be sent again too.
      if (error instanceof Unauthorized && !refusal) return attempt(outer, { token, error });
      if (error instanceof NoAnswer && !error.mayHaveReached) sent = sentBefore;
      throw error;
    }
  }

  async function attempts(signal: AbortSignal) {
    const end = performance.now() + connection.totalTimeoutMs;
    for (let count = 1; ; count++) {
      try {
        return await attempt(signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = asServiceError(error, of, sent);
        const pauseMs = pauseBeforeRetry(failure, operation, count, connection.retry);
        if (pauseMs === undefined || performance.now() + pauseMs >= end) throw failure;
        connection.onRetry?.(failure, pauseMs);
        await pause(pauseMs, undefined, { signal });
      }
    }
  }

  try {
    return await within(connection.totalTimeoutMs, options.signal, attempts);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw asServiceError(error, of, sent);
  }
}

type Refusal = { readonly token: string; readonly error: Unauthorized };
type Context = { readonly operation: string; readonly transactionId: string | undefined };

function asServiceError(error: unknown, of: Context, mayHaveReached: boolean): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof NoToken) return new Unauthorized(error.message, of);
  if (error instanceof TimeLimit) {
    return new Unavailable(error.message, of, { reason: 'time-out', mayHaveReached });
  }
  if (error instanceof NoAnswer) {
    return new Unavailable(error.message, of, { reason: 'network', mayHaveReached });
  }
  throw error;
}

function parse(schema: z.ZodType, input: unknown, of: Context): object {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data as object;
  const issues = parsed.error.issues.map((i) => ({ path: i.path.join('.') || 'input', message: i.message }));
  throw new RefusedInput(issues, of);
}

function headersOf(options: RegistrationOptions, of: Context): Record<string, string> {
  const given = Object.entries({
    'X-Pt-Id': options.ptId,
    'X-Partner-Pt-Id': options.partnerPtId,
    'X-Hip-Id': options.hipId,
  }).filter(([, value]) => value !== undefined);
  return { ...parse(registrationHeaders, Object.fromEntries(given), of) };
}

function transactionOf(request: unknown): string | undefined {
  const id = (request as { txn_id?: unknown } | null | undefined)?.txn_id;
  return typeof id === 'string' ? id : undefined;
}
