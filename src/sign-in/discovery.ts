import { createRemoteJWKSet, customFetch as keysFetch } from 'jose';
import * as client from 'openid-client';
import type { Config } from '../config/config.ts';
import { nameIssuers, ProviderFault, wrongIssuer } from './provider-fault.ts';

export type ProviderSettings = NonNullable<Config['oidc']>;

/** What the provider tells about itself. */
export interface Discovered {
  configuration: client.Configuration;
  /** Its key set, fetched with the first signature that is verified. */
  keys: ReturnType<typeof createRemoteJWKSet>;
}

/** Asks the provider for its metadata, and remembers it. */
export function createDiscovery(settings: ProviderSettings) {
  const server = new URL(settings.issuer);
  const execute = server.protocol === 'http:' ? [client.allowInsecureRequests] : [];
  const options = { execute, timeout: settings.timeoutMs / 1000, [client.customFetch]: limitedFetch };

  let known: { discovered: Discovered; at: number } | undefined;
  const discover = async () => {
    const { clientId, clientSecret, issuer } = settings;
    const configuration = await client
      .discovery(server, clientId, undefined, authenticateWith(clientSecret), options)
      .catch((error) => {
        throw nameIssuers(error, issuer);
      });
    const metadata = configuration.serverMetadata();
    // The library lets users of every tenant in where the issuer is that of none.
    if (metadata.issuer.includes('{tenantid}')) throw wrongIssuer(issuer, metadata.issuer);
    if (!metadata.jwks_uri) throw new ProviderFault('the provider’s metadata has no jwks_uri');
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), {
      timeoutDuration: settings.timeoutMs,
      [keysFetch]: limitedFetch,
    });
    known = { discovered: { configuration, keys }, at: Date.now() };
    return known.discovered;
  };

  let pending: Promise<Discovered> | undefined;
  /** Concurrent sign-ins share one request. */
  const ask = () => {
    pending ??= discover().finally(() => {
      pending = undefined;
    });
    return pending;
  };

  return {
    /** Metadata of the last minutes, so that a sign-in does not begin at a provider that has long been down. */
    recent: async (): Promise<Discovered> =>
      known && Date.now() - known.at < settings.discoveryMs ? known.discovered : ask(),
    /** Metadata of any age. */
    any: async (): Promise<Discovered> => known?.discovered ?? ask(),
  };
}

/** Far more than any provider needs: the groups of a user may be hundreds. */
const mostBytes = 1024 * 1024;

/** @throws ProviderFault if the body is larger than a megabyte; the rest is not read */
async function limitedFetch(address: string, options: object): Promise<Response> {
  const response = await fetch(address, options);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > mostBytes) throw new ProviderFault(`the response of ${new URL(address).host} is too large`);
    parts.push(part);
  }
  const { status, statusText, headers } = response;
  return new Response(bytes > 0 ? Buffer.concat(parts) : null, { status, statusText, headers });
}

// RFC 8414: a provider that lists no methods knows the first.
const authenticateWith =
  (secret: string): client.ClientAuth =>
  (as, ...request) => {
    const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const method = methods.includes('client_secret_basic') ? basic : client.ClientSecretPost;
    return method(secret)(as, ...request);
  };

// RFC 6749, 2.3.1, with the encoding of HTML's forms. The library also encodes hyphens, dots and underscores, which
// providers that do not decode take for another secret.
const basic =
  (secret: string): client.ClientAuth =>
  (_as, { client_id: id }, _body, headers) => {
    const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
    const credentials = Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64');
    headers.set('Authorization', `Basic ${credentials}`);
  };
