import { Agent } from 'undici';
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

const request = z.strictObject({ client_id: z.string(), client_secret: z.string() });
const response = z.looseObject({
  access_token: z.string().regex(bearerToken),
  // Seconds. Without a plausible value the token is used until the platform rejects it.
  expires_in: z.coerce.number().positive().catch(Number.POSITIVE_INFINITY),
});

// Not one of `operations`: it takes no token. The refresh call is not documented, so that a renewal is a login.
const login = {
  name: 'login',
  summary: 'Log in',
  group: 'login',
  method: 'POST',
  path: 'connect-auth/v1/account/login',
  request,
  response,
  status: 200,
  repeatable: true,
} as const satisfies Operation;

/**
 * A token source that logs in, and logs in again when a fifth of the token's lifetime is left, or after a 401. Calls
 * share one login at a time, and wait for it only without a valid token. Raises TypeError for an invalid base address
 * or number.
 */
export function loginTokenSource(options: LoginOptions): TokenFunction {
  const baseUrl = requireBaseUrl(options.baseUrl);
  const timeoutMs = positive('timeoutMs', options.timeoutMs ?? 10_000);
  const credentials = { client_id: options.clientId, client_secret: options.clientSecret };
  let session: Awaited<ReturnType<typeof logIn>> | undefined;
  let pending: Promise<string> | undefined;

  async function renew(): Promise<string> {
    try {
      session = await logIn(baseUrl, credentials, timeoutMs);
      return session.token;
    } catch (error) {
      // The next attempts are at 1/2, 3/4, … of the time left: not one for each call.
      if (session) session.renewAt = (performance.now() + session.expiresAt) / 2;
      throw error;
    } finally {
      pending = undefined;
    }
  }

  return async ({ refused }) => {
    if (session?.token === refused) session = undefined;
    const now = performance.now();
    const valid = session && now < session.expiresAt ? session : undefined;
    if (valid && now < valid.renewAt) return valid.token;
    pending ??= renew();
    if (!valid) return pending;
    pending.catch(() => {});
    return valid.token;
  };
}

/** A token, and times of performance.now(). */
async function logIn(baseUrl: URL, credentials: z.input<typeof request>, timeoutMs: number) {
  const context = { operation: login.name };
  const start = performance.now();
  const dispatcher = new Agent({ connect: { timeout: timeoutMs }, maxResponseSize: 64 * 1024 });
  try {
    const received = await withTimeout(timeoutMs, undefined, (signal) =>
      sendRequest(dispatcher, baseUrl, login, credentials, {}, signal),
    );
    const body = readResponse(received, login, 'svc', secretsOf(credentials), context);
    const { access_token: token, expires_in } = body as z.output<typeof response>;
    const lifetimeMs = expires_in * 1_000;
    return { token, expiresAt: start + lifetimeMs, renewAt: start + lifetimeMs * 0.8 };
  } catch (error) {
    throw toServiceError(error, context, true);
  } finally {
    await dispatcher.destroy();
  }
}
