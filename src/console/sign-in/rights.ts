import type { Rights } from '../rights.ts';

export const signInRights = {
  'POST /sign-in': 'anyone',
  'GET /sign-in/start': 'anyone',
  'GET /sign-in/callback': 'anyone',
  'POST /sign-out': 'viewer',
} as const satisfies Rights;

export type SignInRights = typeof signInRights;
