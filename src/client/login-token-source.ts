import { login, refresh, requestTokens, type Tokens } from './request-tokens.ts';
import { positive, requireBaseUrl } from './service-client.ts';
import type { TokenFunction } from './token-source.ts';

export interface LoginOptions {
  /** As for createServiceClient. */
  readonly baseUrl: string | URL;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Time-out of a login or a refresh, milliseconds. Default: 10000. */
  readonly timeoutMs?: number;
}

/**
 * A token source that logs in, and refreshes the token when a fifth of its lifetime is left. It logs in again where a
 * refresh fails, after a 401, and when the token has expired. Calls share one renewal at a time, and wait for it only
 * without a valid token. Raises TypeError for an invalid base address or number.
 */
export function loginTokenSource(options: LoginOptions): TokenFunction {
  const { clientId, clientSecret } = options;
  const platform = {
    baseUrl: requireBaseUrl(options.baseUrl),
    timeoutMs: positive('timeoutMs', options.timeoutMs ?? 10_000),
  };
  let session: Tokens | undefined;
  let pending: Promise<string> | undefined;

  const logIn = () => requestTokens(platform, login, { client_id: clientId, client_secret: clientSecret });

  async function requestNext(): Promise<Tokens> {
    const now = performance.now();
    // The refresh is authorised by the token that it replaces.
    if (!session?.refreshToken || now >= session.expiresAt || now >= session.refreshExpiresAt) return logIn();
    const headers = { authorization: `Bearer ${session.token}`, 'client-id': clientId };
    return requestTokens(platform, refresh, { refresh_token: session.refreshToken }, headers).catch(logIn);
  }

  async function renew(): Promise<string> {
    try {
      session = await requestNext();
      return session.token;
    } catch (error) {
      // The next attempts are at 1/2, 3/4, … of the time left: not one for each call.
      if (session) session = { ...session, renewAt: (performance.now() + session.expiresAt) / 2 };
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
