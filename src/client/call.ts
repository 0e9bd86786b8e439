import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { Operation, ResponseOf } from './operations.ts';
import { secretsOf } from './redact.ts';
import { registrationHeaders } from './registration-schemas.ts';
import { pauseBeforeRetry, type RetryPolicy } from './retry.ts';
import { type Endpoint, sendRequest } from './send-request.ts';
import {
  type ErrorContext,
  RefusedInput,
  ServiceError,
  Unauthorized,
  Unavailable,
} from './service-errors.ts';
import { withTimeout } from './time-limit.ts';
import { getToken, type TokenSource } from './token-source.ts';

export interface Connection extends Endpoint {
  readonly token: TokenSource;
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
  const { group, method, repeatable } = operation;
  const context = { operation: operation.name, transactionId: transactionOf(input) };
  const request = operation.request ? (parse(operation.request, input, context) as object) : {};
  const ofCaller = group === 'registration' ? parseHeaders(options, context) : {};
  const totalMs = group === 'reading' ? readTimeoutMs : 3 * connection.timeoutMs;
  let mayHaveReached = false;

  async function attempt(signal: AbortSignal, refused?: RefusedToken): Promise<ResponseOf<O>> {
    const token = await getToken(connection.token, signal, context, refused?.token);
    if (token === refused?.token) throw refused.error;
    const reachedBefore = mayHaveReached;
    mayHaveReached = true;
    try {
      const headers = { ...ofCaller, ...tokenHeaders(group, token, connection.clientId) };
      const secrets = [token, ...secretsOf(request), ...Object.values(ofCaller)];
      return await sendRequest(connection, operation, { request, headers, secrets }, context, signal);
    } catch (error) {
      if (error instanceof Unavailable && !error.mayHaveReached) mayHaveReached = reachedBefore;
      if (!(error instanceof Unauthorized) || refused) throw error;
      if (repeatable) return attempt(signal, { token, error });
      // The 401 may be about the OTP, which works once. The next call has a new token.
      await getToken(connection.token, signal, context, token).catch(() => {});
      throw error;
    }
  }

  async function attempts(signal: AbortSignal): Promise<ResponseOf<O>> {
    const end = performance.now() + totalMs;
    for (let count = 1, mayBeDone = false; ; count++) {
      try {
        return await attempt(signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof ServiceError)) throw error;
        // An attempt whose response was lost may have deleted it.
        if (method === 'DELETE' && mayBeDone && error.status === 404) return undefined as ResponseOf<O>;
        mayBeDone ||= error instanceof Unavailable && error.mayHaveReached;
        const pauseMs = pauseBeforeRetry(error, operation, count, connection.retry);
        if (pauseMs === undefined || performance.now() + pauseMs >= end) throw error;
        await sleep(pauseMs, undefined, { signal });
      }
    }
  }

  const timedOut = (message: string) => new Unavailable(message, context, 'time-out', mayHaveReached);
  return withTimeout(totalMs, timedOut, options.signal, attempts);
}

/** The older read operations take the token in `auth`, the newer ones as a bearer token. */
function tokenHeaders(group: Operation['group'], token: string, clientId: string | undefined) {
  const authorization = `Bearer ${token}`;
  if (group !== 'reading') return { authorization };
  return { authorization, auth: token, ...(clientId !== undefined && { 'client-id': clientId }) };
}

type RefusedToken = { readonly token: string; readonly error: Unauthorized };

function parse<T>(schema: z.ZodType<T>, input: unknown, context: ErrorContext): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((i) => ({ path: i.path.join('.') || 'input', message: i.message }));
  throw new RefusedInput(issues, context);
}

function parseHeaders({ ptId, partnerPtId, hipId }: RegistrationOptions, context: ErrorContext) {
  const headers = { 'X-Pt-Id': ptId, 'X-Partner-Pt-Id': partnerPtId, 'X-Hip-Id': hipId };
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return { ...parse(registrationHeaders, Object.fromEntries(given), context) } as Record<string, string>;
}

function transactionOf(input: unknown): string | undefined {
  const id = (input as { txn_id?: unknown } | null | undefined)?.txn_id;
  return typeof id === 'string' ? id : undefined;
}
