import { compactVerify, errors, jwtVerify } from 'jose';
import * as client from 'openid-client';
import type { Discovered, ProviderSettings } from './discovery.ts';
import { ProviderFault } from './provider-fault.ts';
import { type Claims, isEmail, readValues, roleOf, verifiedEmail } from './roles.ts';

export type Identity = Awaited<ReturnType<typeof identify>>;

/** The actors of the access log that are no users of a provider. */
const reserved = /^(admin-token|unknown|worker|platform|command:.*|\s*)$/is;

type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>;

/**
 * Who the tokens are of. What the ID token lacks is looked for in userinfo, and the roles then in the access token.
 *
 * @param subject the user, if there is no ID token
 * @returns without a role, if the user has none of the console's; `isCut`: the provider left the values out because there
 *   are too many; without a refresh token, the provider lets no client ask again later
 * @throws Error where a signature is wrong, or the subject is another actor of the access log
 */
export async function identify(
  tokens: Tokens,
  discovered: Discovered,
  { rolesClaim, rolesMap, clientId }: ProviderSettings,
  subject?: string,
) {
  const { configuration, keys } = discovered;
  const inToken: Claims = tokens.claims() ?? {};
  if (tokens.id_token) await verified(keys, () => compactVerify(tokens.id_token!, keys));
  const id = tokens.claims()?.sub ?? subject!;
  if (reserved.test(id)) throw new ProviderFault('the provider has a user whose subject is reserved');

  const sources = [inToken];
  const valuesIn = (claims: readonly Claims[]) =>
    claims.map((one) => readValues(one, rolesClaim)).find((values) => values !== undefined);
  const needsEmail = rolesMap?.some(({ value }) => isEmail(value)) ?? false;
  const isComplete = valuesIn(sources) && nameIn(sources) && (!needsEmail || verifiedEmail(sources));
  if (!isComplete && configuration.serverMetadata().userinfo_endpoint) {
    sources.push(await client.fetchUserInfo(configuration, tokens.access_token, id));
  }
  const values =
    valuesIn(sources) ?? valuesIn([await readAccessToken(tokens.access_token, discovered, clientId, id)]);
  return {
    id,
    name: nameIn(sources),
    role: roleOf(values ?? [], verifiedEmail(sources), rolesMap),
    // OpenID Connect Core, 5.6.2: the claim is elsewhere.
    isCut:
      values === undefined &&
      sources.some(({ _claim_names: names }) => readValues(Object(names), rolesClaim)),
    refreshToken: tokens.refresh_token,
  };
}

/** Verifies a signature, and once more with a new key set: the provider may have changed its keys. */
async function verified<Result>(keys: Discovered['keys'], verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify();
  } catch (error) {
    const isOfKeys =
      error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
    if (!isOfKeys) throw error;
    await keys.reload();
    return verify();
  }
}

/**
 * The claims of an access token of this provider for this client and user; of any other, none. To a client, the
 * standard promises nothing of it, so that none of it is believed unverified.
 */
async function readAccessToken(
  token: string,
  { configuration, keys }: Discovered,
  clientId: string,
  subject: string,
): Promise<Claims> {
  const { issuer } = configuration.serverMetadata();
  try {
    const { payload } = await jwtVerify(token, keys, { issuer, subject, clockTolerance: 30 });
    const { azp, client_id: client, aud } = payload;
    return azp === clientId || client === clientId || [aud].flat().includes(clientId) ? payload : {};
  } catch (error) {
    if (error instanceof errors.JOSEError) return {};
    throw error;
  }
}

/** A name that people read, cut to what a cookie can hold. */
function nameIn(sources: readonly Claims[]): string | undefined {
  const claims: Claims = Object.assign({}, ...sources.toReversed());
  const { preferred_username, email, name } = claims;
  const found = [preferred_username, email, name].find((value) => typeof value === 'string' && value !== '');
  return (found as string | undefined)?.slice(0, 200);
}
