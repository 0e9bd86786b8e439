import * as client from 'openid-client';
import type { Config } from '../../common/config/config.ts';
import type { Role } from '../../common/config/value-types.ts';
import { isOwnActor } from '../../receiver/store/log-access.ts';
import { type Claims, missingIn, rolesOf } from './roles.ts';

// A check waits for it, and /metrics for the check.
const discoveryS = 5;
const scope = 'openid profile email';

/** What the browser keeps between the start of a sign-in and its end. */
export type Attempt = Record<'state' | 'nonce' | 'verifier', string>;

export type Provider = ReturnType<typeof createProvider>;

/** Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function createProvider({ issuer, clientId, clientSecret, rolesMap }: NonNullable<Config['oidc']>) {
  const server = new URL(issuer);
  const insecure = server.protocol === 'http:' ? [client.allowInsecureRequests] : [];
  let discovering: Promise<client.Configuration> | undefined;

  const authenticate: client.ClientAuth = (provider, ...request) => {
    // Without a list it is basic, by the standard.
    const posts = provider.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    const method = posts ? client.ClientSecretPost : client.ClientSecretBasic;
    return method(clientSecret)(provider, ...request);
  };
  const discover = async () => {
    const options = { execute: [client.enableNonRepudiationChecks, ...insecure], timeout: discoveryS };
    const ask = (issuer: URL) => client.discovery(issuer, clientId, clientSecret, authenticate, options);
    const found = await ask(server).catch((error) => {
      const { issuer } = faultOfProvider(error);
      // A slash at the end is easily mistaken, and makes nobody else of it.
      if (issuer?.replace(/\/$/, '') === server.href.replace(/\/$/, '')) return ask(new URL(issuer!));
      throw error;
    });
    // The library lets users of every tenant in where the issuer is that of none.
    if (found.serverMetadata().issuer.includes('{tenantid}'))
      throw new Error('OIDC_ISSUER has to name one tenant', { cause: { code: 'no tenant' } });
    return found;
  };
  /** The provider's metadata, asked for once. */
  const configuration = () => {
    discovering ??= discover().catch((error) => {
      discovering = undefined;
      throw error;
    });
    return discovering;
  };

  return {
    /** Why the provider cannot be used; undefined: it responds. */
    findFault: () =>
      discover().then(
        () => undefined,
        (error) => faultOfProvider(error).text,
      ),
    /** @returns the address of the provider's page, and the attempt */
    begin: async (redirectUri: string) => {
      const verifier = client.randomPKCECodeVerifier();
      const attempt: Attempt = { state: client.randomState(), nonce: client.randomNonce(), verifier };
      const address = client.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      });
      return { address, attempt };
    },

    /**
     * @param address of the request that the provider sent the browser with
     * @returns the user, with those roles that the console knows, or what the account `lacks` for one
     * @throws Error where an answer of the provider is wrong, or the subject is another actor of the access log
     */
    finish: async (
      address: URL,
      { state, nonce, verifier }: Attempt,
    ): Promise<{ id: string; name: string | undefined; roles: Role[]; lacks: string | undefined }> => {
      const known = await configuration();
      const tokens = await client.authorizationCodeGrant(known, address, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims()!;
      if (isOwnActor(claims.sub)) throw new Error('Reserved', { cause: { code: 'reserved subject' } });
      const sources: Claims[] = [claims];
      if (known.serverMetadata().userinfo_endpoint)
        sources.push(await client.fetchUserInfo(known, tokens.access_token, claims.sub));
      const roles = rolesOf(sources, rolesMap);
      const lacks = roles.length > 0 ? undefined : missingIn(sources, rolesMap);
      return { id: claims.sub, name: nameIn(sources), roles, lacks };
    },

    /** Where a user signs out, and is sent `back`; undefined if the provider has no such page, or does not respond. */
    signOutAddress: async (back: string): Promise<string | undefined> => {
      const known = await configuration().catch(() => undefined);
      if (!known?.serverMetadata().end_session_endpoint) return undefined;
      return client.buildEndSessionUrl(known, { post_logout_redirect_uri: back }).href;
    },
  };
}

/** A name that people read. */
function nameIn(sources: readonly Claims[]): string | undefined {
  const claims: Claims = Object.assign({}, ...sources.toReversed());
  const { preferred_username, email, name } = claims;
  const names = [preferred_username, email, name].filter((value) => typeof value === 'string');
  return names.find((value) => !isOwnActor(value))?.slice(0, 200);
}

/** What is wrong with the provider, without anything of a user: a fixed code, and both names of the issuer where they differ. */
export function faultOfProvider(fault: unknown): { code: string; text: string; issuer?: string } {
  const { code, error = '', status, cause } = fault as Record<'code' | 'error' | 'status', string> & Error;
  const { expected, body, attribute, ...inner } = (cause ?? {}) as Record<string, unknown>;
  // A code of OAuth, such as invalid_client.
  const known = (/^[a-z_]{1,40}$/.test(error) && error) || String(inner.code ?? code);
  if (attribute === 'issuer') {
    const { issuer } = body as { issuer: string };
    return {
      code: known,
      issuer,
      text: `OIDC_ISSUER is ${expected}, and the provider calls itself ${issuer}`,
    };
  }
  const isClient = known === 'invalid_client' || Number(status) === 401;
  const answer = known === error ? 'answers' : 'does not respond as it should';
  const text = isClient ? 'refuses OIDC_CLIENT_ID with OIDC_CLIENT_SECRET' : answer;
  return { code: known, text: `The provider ${text} (${known})` };
}
