import { type Role, roles } from '../rights.ts';

type Claims = Record<string, unknown>;

/**
 * The roles that claims contain: an array, or a text with spaces or commas.
 *
 * @param name of the claim; if there is none of this name, a path such as `realm_access.roles`
 * @returns undefined if there is no such claim
 */
export function readRoles(claims: Claims, name: string): string[] | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : name.split('.').reduce<unknown>(member, claims);
  if (typeof value === 'string') return value.split(/[\s,]+/);
  return Array.isArray(value) ? value.filter((role) => typeof role === 'string') : undefined;
}

const member = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Claims)[name]
    : undefined;

/** The role with the most rights. */
export const highestRole = (names: readonly string[]): Role | undefined =>
  roles.findLast((role) => names.includes(role));
