import type { Config } from '../config/config.ts';
import { type Role, roles } from '../config/roles.ts';

export type Claims = Record<string, unknown>;

/**
 * The values of a claim: those of an array, those of a text with spaces or commas, or the keys of an object that are
 * granted.
 *
 * @param name of the claim, or a path such as `realm_access.roles`, whose parts may contain dots
 * @returns undefined if there is no such claim
 */
export function readValues(claims: Claims, name: string): string[] | undefined {
  const value = valueAt(claims, name);
  if (typeof value === 'string') return value.split(/[\s,]+/).filter((one) => one !== '');
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string');
  return isObject(value) ? Object.keys(value).filter((key) => value[key]) : undefined;
}

const isObject = (value: unknown): value is Claims => typeof value === 'object' && value !== null;

function valueAt(value: unknown, path: string): unknown {
  if (!isObject(value)) return undefined;
  if (Object.hasOwn(value, path)) return value[path];
  return Object.keys(value)
    .filter((key) => path.startsWith(`${key}.`))
    .map((key) => valueAt(value[key], path.slice(key.length + 1)))
    .find((found) => found !== undefined);
}

/** The e-mail address of the first claims that say it is verified, in lower case. */
export function verifiedEmail(sources: readonly Claims[]): string | undefined {
  // Some providers write the flag as a text.
  const isVerified = ({ email, email_verified: flag }: Claims) =>
    typeof email === 'string' && (flag === true || flag === 'true');
  return (sources.find(isVerified)?.email as string | undefined)?.toLowerCase();
}

/** Whether a value of the map is an e-mail address or the domain of one: it is never compared with a claim. */
export const isEmail = (value: string): boolean => value.includes('@');

/**
 * The role with the most rights of a user; undefined: none.
 *
 * @param values of the claim with the roles
 * @param map the roles of values, e-mail addresses and domains; undefined: the values themselves are roles
 */
export function roleOf(
  values: readonly string[],
  email: string | undefined,
  map: NonNullable<Config['oidc']>['rolesMap'],
): Role | undefined {
  const given = values.map(plain);
  const has = (value: string) => {
    if (!isEmail(value)) return given.includes(plain(value));
    const known = value.toLowerCase();
    return known.startsWith('@') ? email?.slice(email.lastIndexOf('@')) === known : email === known;
  };
  const names: readonly string[] = map?.filter(({ value }) => has(value)).map(({ role }) => role) ?? given;
  return roles.findLast((role) => names.includes(role));
}

// The path of a group at the top of a tree of groups begins with a slash.
const plain = (value: string) => value.replace(/^\//, '');
