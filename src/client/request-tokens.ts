import { Agent } from 'undici';
import { z } from 'zod';
import { toServiceError } from './call.ts';
import type { Operation } from './operations.ts';
import { readResponse } from './read-response.ts';
import { secretsOf } from './redact.ts';
import { sendRequest } from './send-request.ts';
import { bearerToken } from './token-source.ts';
import { withTimeout } from './with-timeout.ts';

// Without a plausible lifetime a token is used until the platform rejects it.
const seconds = z.coerce.number().positive().catch(Number.POSITIVE_INFINITY);
const response = z.looseObject({
  access_token: z.string().regex(bearerToken),
  expires_in: seconds,
  refresh_token: z.string().min(1).optional().catch(undefined),
  refresh_expires_in: seconds,
});

const ofAccount = { group: 'login', method: 'POST', response, status: 200, repeatable: true } as const;

// Not among `operations`: they take no token, or that which they replace.
export const login = {
  ...ofAccount,
  name: 'login',
  summary: 'Log in',
  path: 'connect-auth/v1/account/login',
  request: z.strictObject({ client_id: z.string(), client_secret: z.string() }),
} as const satisfies Operation;

export const refresh = {
  ...ofAccount,
  name: 'refresh',
  summary: 'Refresh the tokens',
  path: 'connect-auth/v1/account/refresh-token',
  request: z.strictObject({ refresh_token: z.string() }),
} as const satisfies Operation;

/** A token and the one that refreshes it; the times are those of performance.now(). */
export interface Tokens {
  readonly token: string;
  readonly expiresAt: number;
  /** When a fifth of the lifetime is left. */
  readonly renewAt: number;
  readonly refreshToken: string | undefined;
  readonly refreshExpiresAt: number;
}

/** Requests new tokens. Raises a ServiceError without any value of the request, its headers or the response. */
export async function requestTokens<O extends typeof login | typeof refresh>(
  { baseUrl, timeoutMs }: { readonly baseUrl: URL; readonly timeoutMs: number },
  operation: O,
  request: z.input<O['request']>,
  headers: Record<string, string> = {},
): Promise<Tokens> {
  const context = { operation: operation.name };
  const start = performance.now();
  const dispatcher = new Agent({ connect: { timeout: timeoutMs }, maxResponseSize: 64 * 1024 });
  try {
    const received = await withTimeout(timeoutMs, undefined, (signal) =>
      sendRequest(dispatcher, baseUrl, operation, request, headers, signal),
    );
    const secrets = secretsOf({ ...request, ...headers });
    const body = readResponse(received, operation, 'svc', secrets, context) as z.output<typeof response>;
    const lifetimeMs = body.expires_in * 1_000;
    return {
      token: body.access_token,
      expiresAt: start + lifetimeMs,
      renewAt: start + lifetimeMs * 0.8,
      refreshToken: body.refresh_token,
      refreshExpiresAt: start + body.refresh_expires_in * 1_000,
    };
  } catch (error) {
    throw toServiceError(error, context, true);
  } finally {
    await dispatcher.destroy();
  }
}
