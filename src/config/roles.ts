/** The roles of the console. Each may do what those before it may. */
export const roles = ['viewer', 'desk', 'operator', 'privacy'] as const;
export type Role = (typeof roles)[number];
