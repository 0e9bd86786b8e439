import { pathsOf } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { type Config, parseConfig } from '../../src/common/config/config.ts';
import type { Environment } from '../../src/common/config/environment-schema.ts';

export const clientSecret = 'a-client-secret-of-tests-that-is-long';

/** The settings of sign-in with a provider, as the environment gives them. */
export function oidcSettings(issuer: string, env: Environment = {}): NonNullable<Config['oidc']> {
  const own = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'console', OIDC_CLIENT_SECRET: clientSecret };
  return parseConfig({ ...own, ...env }, families.map(pathsOf)).oidc!;
}
