import * as client from 'openid-client';
import type { Config } from '../config/config.ts';
import type { Role } from '../config/roles.ts';
import { type Claims, rolesOf } from './roles.ts';

const scope = 'openid profile email';

/** The actors of the access log that are no users of a provider. */
const reserved = /^(admin-token|unknown|worker|platform|command:.*|\s*)$/is;

/** What the browser keeps between the start of a sign-in and its end. */
export type Attempt = Record<'state' | 'nonce' | 'verifier', string>;

export type Provider = ReturnType<typeof createProvider>;

/** Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function createProvider({ issuer, clientId, clientSecret, rolesMap }: NonNullable<Config['oidc']>) {
  const server = new URL(issuer);
  const insecure = server.protocol === 'http:' ? [client.allowInsecureRequests] : [];
  let discovering: Promise<client.Configuration> | undefined;

  const discover = async () => {
    const execute = [client.enableNonRepudiationChecks, ...insecure];
    const found = await client.discovery(server, clientId, clientSecret, undefined, { execute });
    // The library lets users of every tenant in where the issuer is that of none.
    if (found.serverMetadata().issuer.includes('{tenantid}'))
      throw new Error('OIDC_ISSUER has to name one tenant');
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
     * @returns the user, with those roles that the console knows
     * @throws Error where an answer of the provider is wrong, or the subject is another actor of the access log
     */
    finish: async (
      address: URL,
      { state, nonce, verifier }: Attempt,
    ): Promise<{ id: string; name: string | undefined; roles: Role[] }> => {
      const known = await configuration();
      const tokens = await client.authorizationCodeGrant(known, address, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims()!;
      if (reserved.test(claims.sub)) throw new Error('the provider has a user whose subject is reserved');
      const sources: Claims[] = [claims];
      if (known.serverMetadata().userinfo_endpoint)
        sources.push(await client.fetchUserInfo(known, tokens.access_token, claims.sub));
      return { id: claims.sub, name: nameIn(sources), roles: rolesOf(sources, rolesMap) };
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
  const found = [preferred_username, email, name].find((value) => typeof value === 'string' && value !== '');
  return (found as string | undefined)?.slice(0, 200);
}
