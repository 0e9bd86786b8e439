import { z } from 'zod';
import { loginTokenSource } from '../login-token-source.ts';
import { parseBaseUrl, type ServiceClientOptions } from '../service-client.ts';

/** The environment lacks the platform's address or token; the message says what to set. */
export class MissingSettings extends Error {
  override readonly name = 'MissingSettings';
}

const milliseconds = z.coerce.number().int().min(1).max(0x7fffffff);

/**
 * The client's options from the environment: SERVICE_BASE_URL, SERVICE_TOKEN or SERVICE_TOKEN_FILE or SERVICE_CLIENT_ID
 * with SERVICE_CLIENT_SECRET, SERVICE_TIMEOUT_MS (10000), SERVICE_IDENTIFIER_FIELD (svc). Raises MissingSettings, without any value.
 */
export function parseSettings(env: Record<string, string | undefined>): ServiceClientOptions {
  const { SERVICE_BASE_URL: baseUrl = '', SERVICE_TOKEN: token, SERVICE_TOKEN_FILE: file } = env;
  const { SERVICE_CLIENT_ID: clientId = '', SERVICE_CLIENT_SECRET: clientSecret = '' } = env;
  const timeout = milliseconds.safeParse(env.SERVICE_TIMEOUT_MS || 10_000);
  const faults = [
    parseBaseUrl(baseUrl) ? '' : "SERVICE_BASE_URL to the platform's http(s) address, without credentials",
    token || file || (clientId && clientSecret)
      ? ''
      : 'SERVICE_TOKEN, or SERVICE_TOKEN_FILE to a file with the token, or SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET',
    timeout.success ? '' : 'SERVICE_TIMEOUT_MS to a number of milliseconds',
  ].filter(Boolean);
  if (faults.length > 0) throw new MissingSettings(`set ${faults.join('; and ')}`);
  const timeoutMs = timeout.data as number;
  const fromFile = file ? { file } : undefined;
  return {
    baseUrl,
    token: token || fromFile || loginTokenSource({ baseUrl, clientId, clientSecret, timeoutMs }),
    clientId: clientId || undefined,
    timeoutMs,
    serviceIdentifierField: env.SERVICE_IDENTIFIER_FIELD || 'svc',
  };
}
