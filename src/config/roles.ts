/** The roles of the console: see console/page.ts for what each includes. */
export const roles = ['viewer', 'desk', 'operator', 'privacy'] as const;
export type Role = (typeof roles)[number];
