import * as client from 'openid-client';
import type { Config } from '../../common/config/config.ts';
import { type Role, roles } from '../../common/config/value-types.ts';
import { isOwnActor } from '../../receiver/store/log-access.ts';
import type { User } from './session.ts';

type Oidc = NonNullable<Config['oidc']>;
type Claims = Record<string, unknown>;

const discoveryS = 5;
const scope = 'openid profile email';

/** The browser keeps it between the start of a sign-in and its end. */
export type Attempt = Record<'state' | 'nonce' | 'verifier', string>;

export interface Provider {
  begin: (redirectUri: string) => Promise<{ address: URL; attempt: Attempt }>;
  /**
   * The user, with the roles that the console knows.
   *
   * @throws Error where an answer of the provider is wrong, or the subject is another actor of the access log
   */
  finish: (address: URL, attempt: Attempt) => Promise<User>;
}

/** Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function createProvider({ issuer, clientId, clientSecret, rolesMap }: Oidc): Provider {
  const issuerUrl = new URL(issuer);
  const insecure = issuerUrl.protocol === 'http:' ? [client.allowInsecureRequests] : [];
  let discovering: Promise<client.Configuration> | undefined;

  const authenticate: client.ClientAuth = (provider, ...request) => {
    // Without a list it is basic, by the standard.
    const posts = provider.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    const method = posts ? client.ClientSecretPost : client.ClientSecretBasic;
    return method(clientSecret)(provider, ...request);
  };
  const discover = async () => {
    const options = { execute: [client.enableNonRepudiationChecks, ...insecure], timeout: discoveryS };
    const result = await client.discovery(issuerUrl, clientId, clientSecret, authenticate, options);
    // The library lets users of every tenant in where the issuer is that of none.
    if (result.serverMetadata().issuer.includes('{tenantid}'))
      throw new Error('OIDC_ISSUER has to name one tenant', { cause: { code: 'no tenant' } });
    return result;
  };
  const configuration = () => {
    discovering ??= discover().catch((error) => {
      discovering = undefined;
      throw error;
    });
    return discovering;
  };

  return {
    begin: async (redirectUri) => {
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

    finish: async (address, { state, nonce, verifier }) => {
      const server = await configuration();
      const tokens = await client.authorizationCodeGrant(server, address, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims()!;
      if (isOwnActor(claims.sub)) throw new Error('Reserved', { cause: { code: 'reserved subject' } });
      const sources: Claims[] = [claims];
      if (server.serverMetadata().userinfo_endpoint)
        sources.push(await client.fetchUserInfo(server, tokens.access_token, claims.sub));
      return { id: claims.sub, name: nameIn(sources), roles: rolesOf(sources, rolesMap) };
    },
  };
}

function nameIn(sources: readonly Claims[]): string | undefined {
  const claims: Claims = Object.assign({}, ...sources.toReversed());
  const { preferred_username, email, name } = claims;
  const names = [preferred_username, email, name].filter((value) => typeof value === 'string');
  return names.find((value) => !isOwnActor(value))?.slice(0, 200);
}

/** The code of a provider's fault, which has nothing of a user. */
export function faultOfProvider(fault: unknown): string {
  const { code, error = '', cause } = fault as { code?: string; error?: string; cause?: { code?: string } };
  // A code of OAuth, such as invalid_client.
  return /^[a-z_]{1,40}$/.test(error) ? error : String(cause?.code ?? code);
}

/** The claims that may have roles: arrays, or texts with spaces or commas. */
const rolesClaims = ['roles', 'groups'];

/** @param map the roles of values, e-mail addresses and domains; undefined: the values themselves are roles */
export function rolesOf(sources: readonly Claims[], map: Oidc['rolesMap']): Role[] {
  const values = sources.flatMap((claims) => rolesClaims.flatMap((name) => valuesOf(claims[name])));
  const email = verifiedEmail(sources);
  const has = (value: string) => {
    // An address is never compared with a claim.
    if (!value.includes('@')) return values.includes(value);
    const wanted = value.toLowerCase();
    return wanted.startsWith('@') ? email?.slice(email.lastIndexOf('@')) === wanted : email === wanted;
  };
  const names: readonly unknown[] = map?.filter(({ value }) => has(value)).map(({ role }) => role) ?? values;
  return roles.filter((role) => names.includes(role));
}

const valuesOf = (claim: unknown): unknown[] =>
  typeof claim === 'string' ? claim.split(/[\s,]+/) : [claim].flat();

function verifiedEmail(sources: readonly Claims[]): string | undefined {
  for (const { email, email_verified } of sources)
    if (typeof email === 'string' && email_verified === true) return email.toLowerCase();
  return undefined;
}
