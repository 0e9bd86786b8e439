import * as client from 'openid-client';
import { createDiscovery, type ProviderSettings } from './discovery.ts';
import { type Identity, identify } from './identity.ts';
import { nameIssuers } from './provider-fault.ts';

/** What the browser keeps between the start of a sign-in and its end. */
export interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
}

export type Provider = ReturnType<typeof createProvider>;

/** Sign-in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
export function createProvider(settings: ProviderSettings) {
  const discovery = createDiscovery(settings);

  return {
    /**
     * Begins a sign-in.
     *
     * @returns the provider's page, and the attempt
     */
    begin: async (redirectUri: string): Promise<{ address: URL; attempt: Attempt }> => {
      const { configuration } = await discovery.recent();
      const verifier = client.randomPKCECodeVerifier();
      const attempt = { state: client.randomState(), nonce: client.randomNonce(), verifier };
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

    /** Ends a sign-in. @param address of the request that the provider sent the browser with */
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

    /**
     * Where a user signs out of the provider.
     *
     * @param back where the provider sends the user afterwards
     * @returns undefined if the provider has no such page, or does not respond
     */
    signOutAddress: async (back: string): Promise<string | undefined> => {
      const { configuration } = (await discovery.any().catch(() => undefined)) ?? {};
      if (!configuration?.serverMetadata().end_session_endpoint) return undefined;
      return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: back }).href;
    },
  };
}
