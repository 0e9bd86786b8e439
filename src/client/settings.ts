import type { RetryPolicy } from './call.ts';
import { type EndpointOptions, parseBaseUrl } from './send-request.ts';
import { loginTokenSource, type TokenSource } from './token-source.ts';

export interface ServiceClientOptions extends EndpointOptions {
  readonly token: TokenSource;
  readonly retry?: Partial<RetryPolicy>;
}

export class MissingSettings extends Error {
  override readonly name = 'MissingSettings';
}

/** @throws MissingSettings: its message says which variables to set, and quotes no value */
export function parseSettings(env: Record<string, string | undefined>): ServiceClientOptions {
  const { SERVICE_BASE_URL: baseUrl = '', SERVICE_TOKEN: token } = env;
  const { SERVICE_CLIENT_ID: clientId = '', SERVICE_CLIENT_SECRET: clientSecret = '' } = env;
  const missing: string[] = [];
  if (!parseBaseUrl(baseUrl))
    missing.push("SERVICE_BASE_URL to the platform's http(s) address, without credentials");
  if (!token && !(clientId && clientSecret))
    missing.push('SERVICE_TOKEN, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET');
  if (missing.length > 0) throw new MissingSettings(`set ${missing.join('; and ')}`);
  return {
    baseUrl,
    token: token || loginTokenSource({ baseUrl, clientId, clientSecret }),
    clientId: clientId || undefined,
    serviceIdentifierField: env.SERVICE_IDENTIFIER_FIELD || 'svc',
  };
}
