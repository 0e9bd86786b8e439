import { z } from 'zod';
import type { Operation } from './operation.ts';
import { codeOf, parseEndpoint, sendRequest } from './send-request.ts';
import { type ErrorContext, ServiceError, Unauthorized, Unavailable } from './service-errors.ts';

/** Returns the bearer token. After a 401 it is called again with the rejected token as `refused`. */
export type TokenFunction = (request: {
  readonly refused?: string;
  readonly signal: AbortSignal;
}) => string | Promise<string>;

/** The bearer token (section 5), or a function that is called for it with each call. */
export type TokenSource = string | TokenFunction;

// RFC 6750. The HTTP library rejects other header values, and quotes them.
const bearerToken = /^[\w.~+/-]+=*$/;

/** @throws Unauthorized; Unavailable if the platform could not be reached for a token. Neither quotes the token */
export async function getToken(
  source: TokenSource,
  signal: AbortSignal,
  context: ErrorContext,
  refused?: string,
): Promise<string> {
  let problem = 'the token source returned no valid bearer token';
  try {
    const request = refused === undefined ? { signal } : { refused, signal };
    const token: unknown = typeof source === 'string' ? source : await source(request);
    if (typeof token === 'string' && bearerToken.test(token)) return token;
  } catch (error) {
    // Only the name of other errors: the error of an OAuth library contains the client secret.
    problem = `the token source failed (${error instanceof ServiceError ? error.message : codeOf(error)})`;
    if (error instanceof Unavailable || (error instanceof ServiceError && error.status === 429)) {
      const reason = error instanceof Unavailable ? error.reason : 'status';
      // Nothing was sent, so any operation may be retried.
      throw new Unavailable(problem, { ...context, retryAfterMs: error.retryAfterMs }, reason, false);
    }
  }
  if (refused === undefined) throw new Unauthorized(problem, context);
  throw new Unauthorized(`the platform responded with 401, and ${problem}`, { ...context, status: 401 });
}

export interface LoginOptions {
  readonly baseUrl: string | URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Time-out of a login, milliseconds. Default: 10000. */
  readonly timeoutMs?: number;
}

const session = z.object({
  access_token: z.string().regex(bearerToken),
  // Without a plausible lifetime a token is used until the platform rejects it.
  expires_in: z.coerce.number().positive().catch(Number.POSITIVE_INFINITY),
});

const login: Operation = {
  group: 'login',
  method: 'POST',
  path: 'connect-auth/v1/account/login',
  response: session,
};

/**
 * Logs in for its first token, when a fifth of the token's lifetime is left, and after a 401; concurrent calls share a login.
 *
 * @throws TypeError for an invalid base address or number
 */
export function loginTokenSource(options: LoginOptions): TokenFunction {
  const endpoint = parseEndpoint(options);
  const fields = { client_id: options.clientId, client_secret: options.clientSecret };
  const request = { fields, headers: {}, context: { operation: 'login' } };
  let current: { readonly token: string; readonly start: number; readonly lifetimeMs: number } | undefined;
  let pending: Promise<string> | undefined;

  async function logIn(): Promise<string> {
    const start = performance.now();
    try {
      const response = session.parse(await sendRequest(endpoint, login, request));
      current = { token: response.access_token, start, lifetimeMs: response.expires_in * 1000 };
      return current.token;
    } finally {
      pending = undefined;
    }
  }

  const isYounger = (part: number) =>
    current && performance.now() < current.start + part * current.lifetimeMs;
  return async ({ refused }) => {
    if (current?.token === refused) current = undefined;
    if (isYounger(0.8)) return current!.token;
    pending ??= logIn();
    return pending.catch((error) => {
      if (isYounger(1)) return current!.token;
      throw error;
    });
  };
}
