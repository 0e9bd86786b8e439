import { z } from 'zod';
import type { Operation } from './operations.ts';
import { secretsOf } from './redact.ts';
import { sendRequest } from './send-request.ts';
import { positive, requireBaseUrl } from './service-client.ts';
import { bearerToken, type TokenFunction } from './token-source.ts';

export interface LoginOptions {
  /** As for createServiceClient. */
  readonly baseUrl: string | URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Time-out of a login, milliseconds. Default: 10000. */
  readonly timeoutMs?: number;
}

// Not among `operations`: it takes no token.
const login = {
  name: 'login',
  group: 'login',
  method: 'POST',
  path: 'connect-auth/v1/account/login',
  request: undefined,
  response: z.looseObject({
    access_token: z.string().regex(bearerToken),
    // Without a plausible lifetime a token is used until the platform rejects it.
    expires_in: z.coerce.number().positive().catch(Number.POSITIVE_INFINITY),
  }),
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
  const outgoing = { request, headers: {}, secrets: secretsOf(request) };
  const baseUrl = requireBaseUrl(options.baseUrl);
  const timeoutMs = positive('timeoutMs', options.timeoutMs ?? 10_000);
  const connection = { baseUrl, timeoutMs, serviceIdentifierField: 'svc' };
  let session: { readonly token: string; readonly renewAt: number } | undefined;
  let pending: Promise<string> | undefined;

  async function logIn(): Promise<string> {
    const start = performance.now();
    try {
      const { access_token: token, expires_in } = await sendRequest(connection, login, outgoing, {
        operation: login.name,
      });
      session = { token, renewAt: start + expires_in * 800 };
      return token;
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
