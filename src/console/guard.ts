import type { RequestHandler } from 'express';
import type { Takes } from '../sign-in/rights.ts';

type AddRoute = (path: string, takes: Takes, handler: RequestHandler) => void;

/** Where pages add their routes, with the least role for each. */
export type Routes = Record<'get' | 'post', AddRoute>;
