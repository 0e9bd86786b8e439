import * as client from 'openid-client';
import { createDiscovery, type ProviderSettings } from './discovery.ts';
import { type Identity, identify } from './identity.ts';
import { nameIssuers } from './provider-fault.ts';

/** What the browser keeps between the start of a sign-in and its end. */
export type Attempt = Record<'state' | 'nonce' | 'verifier', string>;

export type Provider = ReturnType<typeof createProvider>;

/** Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function createProvider(settings: ProviderSettings) {
  const discovery = createDiscovery(settings);

  return {
    /** @returns the address of the provider's page, and the attempt */
    begin: async (redirectUri: string) => {
      const { configuration } = await discovery.recent();
      const verifier = client.randomPKCECodeVerifier();
      const attempt: Attempt = { state: client.randomState(), nonce: client.randomNonce(), verifier };
      const address = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: settings.scopes,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      });
      return { address, attempt };
    },

    /** @param address of the request that the provider sent the browser with */
    finish: async (address: URL, { state, nonce, verifier }: Attempt): Promise<Identity> => {
      const discovered = await discovery.any();
      const tokens = await client
        .authorizationCodeGrant(discovered.configuration, address, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        .catch((error) => {
          throw nameIssuers(error, settings.issuer);
        });
      return identify(tokens, discovered, settings);
    },

    /**
     * Asks the provider about a user again.
     *
     * @param id the subject of the user
     * @returns `hasIdToken`: whether there is a new ID token; without one, a missing role says nothing
     * @throws client.ResponseBodyError if the provider refuses
     */
    refresh: async (refreshToken: string, id: string): Promise<Identity & { hasIdToken: boolean }> => {
      const discovered = await discovery.any();
      const tokens = await client.refreshTokenGrant(discovered.configuration, refreshToken);
      const identity = await identify(tokens, discovered, settings, id);
      return { ...identity, hasIdToken: tokens.id_token !== undefined };
    },

    /** Where a user signs out, and is sent `back`; undefined if the provider has no such page, or does not respond. */
    signOutAddress: async (back: string): Promise<string | undefined> => {
      const { configuration } = (await discovery.any().catch(() => undefined)) ?? {};
      if (!configuration?.serverMetadata().end_session_endpoint) return undefined;
      return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: back }).href;
    },
  };
}
