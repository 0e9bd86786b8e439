import * as client from 'openid-client';
import type { Config } from '../../config.ts';
import type { Role } from '../rights.ts';
import { highestRole, readRoles } from './roles.ts';

export type ProviderSettings = NonNullable<Config['oidc']>;

/** What the browser keeps between the start of a sign-in and its end. */
export interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
}

export interface Identity {
  id: string;
  name: string | undefined;
  /** Undefined: none of the console's roles. */
  role: Role | undefined;
  /** When the ID token ends, in milliseconds. */
  expires: number;
}

export type Provider = ReturnType<typeof createProvider>;

const timeoutS = 10;

/** Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function createProvider({ issuer, clientId, clientSecret, rolesClaim }: ProviderSettings) {
  const server = new URL(issuer);
  const execute = server.protocol === 'http:' ? [client.allowInsecureRequests] : [];
  // RFC 8414: a provider that lists no methods knows the first.
  const authenticate: client.ClientAuth = (as, ...request) => {
    const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const method = methods.includes('client_secret_basic')
      ? client.ClientSecretBasic
      : client.ClientSecretPost;
    return method(clientSecret)(as, ...request);
  };

  let known: client.Configuration | undefined;
  let discovery: Promise<client.Configuration> | undefined;
  /** Concurrent sign-ins share one request. */
  const discover = () => {
    discovery ??= client
      .discovery(server, clientId, undefined, authenticate, { execute, timeout: timeoutS })
      .then((found) => {
        known = found;
        return found;
      })
      .finally(() => {
        discovery = undefined;
      });
    return discovery;
  };

  return {
    /**
     * Begins a sign-in. It asks the provider anew each time, so that the user is told if it is down.
     *
     * @returns the provider's page, and the attempt
     */
    begin: async (redirectUri: string): Promise<{ address: URL; attempt: Attempt }> => {
      const configuration = await discover();
      const verifier = client.randomPKCECodeVerifier();
      const attempt = { state: client.randomState(), nonce: client.randomNonce(), verifier };
      const address = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid profile email',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      });
      return { address, attempt };
    },

    /** Ends a sign-in. @param address of the request that the provider sent the browser with */
    finish: async (address: URL, { state, nonce, verifier }: Attempt): Promise<Identity> => {
      const configuration = known ?? (await discover());
      const tokens = await client.authorizationCodeGrant(configuration, address, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const { sub: id, exp, ...inToken } = tokens.claims()!;
      const isComplete = readRoles(inToken, rolesClaim) && nameIn(inToken);
      const more =
        isComplete || !configuration.serverMetadata().userinfo_endpoint
          ? {}
          : await client.fetchUserInfo(configuration, tokens.access_token, id);
      const claims = { ...more, ...inToken };
      const role = highestRole(readRoles(claims, rolesClaim) ?? []);
      return { id, name: nameIn(claims), role, expires: exp * 1000 };
    },

    /**
     * Where a user signs out of the provider.
     *
     * @param back where the provider sends the user afterwards
     * @returns undefined if the provider has no such page, or does not respond
     */
    signOutAddress: async (back: string): Promise<string | undefined> => {
      const configuration = known ?? (await discover().catch(() => undefined));
      if (!configuration?.serverMetadata().end_session_endpoint) return undefined;
      return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: back }).href;
    },
  };
}

/** A name that people read, cut to what a cookie can hold. */
function nameIn({ preferred_username, email, name }: Record<string, unknown>): string | undefined {
  const found = [preferred_username, email, name].find((value) => typeof value === 'string' && value !== '');
  return (found as string | undefined)?.slice(0, 200);
}
