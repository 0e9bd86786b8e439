import { loginTokenSource } from './login-token-source.ts';
import { parseBaseUrl, type ServiceClientOptions } from './service-client.ts';

/** The environment lacks the platform's address or token; the message says what to set. */
export class MissingSettings extends Error {
  override readonly name = 'MissingSettings';
}

/**
 * The client's options from the environment: SERVICE_BASE_URL, SERVICE_TOKEN or SERVICE_CLIENT_ID with SERVICE_CLIENT_SECRET,
 * SERVICE_IDENTIFIER_FIELD (svc). Raises MissingSettings, without any value.
 */
export function parseSettings(env: Record<string, string | undefined>): ServiceClientOptions {
  const { SERVICE_BASE_URL: baseUrl = '', SERVICE_TOKEN: token } = env;
  const { SERVICE_CLIENT_ID: clientId = '', SERVICE_CLIENT_SECRET: clientSecret = '' } = env;
  const faults = [
    parseBaseUrl(baseUrl) ? '' : "SERVICE_BASE_URL to the platform's http(s) address, without credentials",
    token || (clientId && clientSecret)
      ? ''
      : 'SERVICE_TOKEN, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET',
  ].filter(Boolean);
  if (faults.length > 0) throw new MissingSettings(`set ${faults.join('; and ')}`);
  return {
    baseUrl,
    token: token || loginTokenSource({ baseUrl, clientId, clientSecret }),
    clientId: clientId || undefined,
    serviceIdentifierField: env.SERVICE_IDENTIFIER_FIELD || 'svc',
  };
}
