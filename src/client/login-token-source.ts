import { z } from 'zod';
import { toServiceError } from './call.ts';
import type { Operation } from './operations.ts';
import { readResponse } from './read-response.ts';
import { secretsOf } from './redact.ts';
import { sendRequest } from './send-request.ts';
import { positive, requireBaseUrl } from './service-client.ts';
import { bearerToken, type TokenFunction } from './token-source.ts';
import { withTimeout } from './with-timeout.ts';

export interface LoginOptions {
  /** As for createServiceClient. */
  readonly baseUrl: string | URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Time-out of a login, milliseconds. Default: 10000. */
  readonly timeoutMs?: number;
}

const response = z.looseObject({
  access_token: z.string().regex(bearerToken),
  // Without a plausible lifetime a token is used until the platform rejects it.
  expires_in: z.coerce.number().positive().catch(Number.POSITIVE_INFINITY),
});

// Not among `operations`: it takes no token.
const login = {
  name: 'login',
  summary: 'Log in',
  group: 'login',
  method: 'POST',
  path: 'connect-auth/v1/account/login',
  request: z.strictObject({ client_id: z.string(), client_secret: z.string() }),
  response,
  status: 200,
  repeatable: true,
} as const satisfies Operation;

/**
 * A token source that logs in for its first token, when a fifth of the token's lifetime is left, and after a 401. Calls that
 * need a token meanwhile share one login. Its errors have neither the secret nor a token.
 *
 * @throws TypeError for an invalid base address or number
 */
export function loginTokenSource(options: LoginOptions): TokenFunction {
  const request = { client_id: options.clientId, client_secret: options.clientSecret };
  const baseUrl = requireBaseUrl(options.baseUrl);
  const timeoutMs = positive('timeoutMs', options.timeoutMs ?? 10_000);
  let session: { readonly token: string; readonly renewAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function logIn(): Promise<string> {
    const context = { operation: login.name };
    const start = performance.now();
    try {
      const received = await withTimeout(timeoutMs, undefined, (signal) =>
        sendRequest(baseUrl, login, request, {}, signal),
      );
      const body = readResponse(received, login, 'svc', secretsOf(request), context);
      const { access_token: token, expires_in } = body as z.output<typeof response>;
      session = { token, renewAt: start + expires_in * 800 };
      return token;
    } catch (error) {
      throw toServiceError(error, context, true);
    } finally {
      pending = undefined;
    }
  }

  return async ({ refused }) => {
    if (session?.token === refused) session = undefined;
    if (session && performance.now() < session.renewAt) return session.token;
    pending ??= logIn();
    return pending;
  };
}
