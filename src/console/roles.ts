import type { Role } from '../common/config/value-types.ts';

/** The least role of a route; `anyone`: no session. */
export type LeastRole = Role | 'anyone';

/** The roles that a role includes. Only `desk` and `privacy` see personal data. */
const includes: Record<Role, readonly Role[]> = {
  viewer: [],
  desk: ['viewer'],
  operator: ['viewer'],
  privacy: ['viewer', 'desk'],
};

export const isAllowed = (roles: readonly Role[], least: LeastRole): boolean =>
  least === 'anyone' || roles.some((role) => role === least || includes[role].includes(least));
