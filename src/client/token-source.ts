import { codeOf } from './send-request.ts';
import { type ErrorContext, ServiceError, Unauthorized, Unavailable } from './service-errors.ts';

/** Returns the bearer token. After a 401 it is called again with the rejected token as `refused`. */
export type TokenFunction = (request: {
  readonly refused?: string;
  readonly signal: AbortSignal;
}) => string | Promise<string>;

/** The bearer token (section 5), or a function that is asked for it with each call. */
export type TokenSource = string | TokenFunction;

// RFC 6750. The HTTP library rejects other header values, and quotes them.
export const bearerToken = /^[\w.~+/-]+=*$/;

/**
 * The token for the next request. Raises Unauthorized, or Unavailable if the platform could not be reached for a token; without the token in its message.
 */
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
