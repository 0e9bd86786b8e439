import type { Config } from '../../common/config/config.ts';
import { type Role, roles } from '../../common/config/value-types.ts';

export type Claims = Record<string, unknown>;

/** The claims that may have roles: arrays, or texts with spaces or commas. */
const rolesClaims = ['roles', 'groups'];

/**
 * The roles of a user.
 *
 * @param sources claims of the ID token, and of userinfo
 * @param map the roles of values, e-mail addresses and domains; undefined: the values themselves are roles
 */
export function rolesOf(sources: readonly Claims[], map: NonNullable<Config['oidc']>['rolesMap']): Role[] {
  const given = sources.flatMap((claims) => rolesClaims.flatMap((name) => valuesOf(claims[name])));
  const email = verifiedEmail(sources);
  const has = (value: string) => {
    // An address is never compared with a claim.
    if (!value.includes('@')) return given.includes(value);
    const known = value.toLowerCase();
    return known.startsWith('@') ? email?.slice(email.lastIndexOf('@')) === known : email === known;
  };
  const names: readonly unknown[] = map?.filter(({ value }) => has(value)).map(({ role }) => role) ?? given;
  return roles.filter((role) => names.includes(role));
}

/** What a user without a role lacks. */
export function missingIn(sources: readonly Claims[], map: NonNullable<Config['oidc']>['rolesMap']): string {
  const names = rolesClaims.join(' or ');
  const hasRoles = sources.some((claims) => rolesClaims.some((name) => claims[name] !== undefined));
  const ofRoles = hasRoles ? `a known value in the claim ${names}` : `the claim ${names}`;
  const needsEmail = map?.some(({ value }) => value.includes('@')) && !verifiedEmail(sources);
  return needsEmail ? `${ofRoles}, and the claim email with email_verified true` : ofRoles;
}

const valuesOf = (claim: unknown): unknown[] =>
  typeof claim === 'string' ? claim.split(/[\s,]+/) : [claim].flat();

/** The e-mail address of the first claims that say it is verified, in lower case. */
function verifiedEmail(sources: readonly Claims[]): string | undefined {
  const verified = sources.find(
    ({ email, email_verified: flag }) => typeof email === 'string' && flag === true,
  );
  return (verified?.email as string | undefined)?.toLowerCase();
}
