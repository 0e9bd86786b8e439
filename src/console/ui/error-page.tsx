import type { Response } from 'express';
import { BadInput, Busy, Forbidden, NotHere } from '../errors.ts';
import { isTimeout } from '../store.ts';
import { sendBarePage, sendPage } from './page.tsx';

interface Kind {
  matches: (error: unknown) => boolean;
  status: number;
  title: string;
  /** What is said of it; left out: the error's own words. */
  text?: string;
}

const statusOf = (error: unknown) => (error as { status?: unknown } | null)?.status;

const kinds: Kind[] = [
  { matches: (error) => error instanceof Forbidden, status: 403, title: 'Not allowed' },
  { matches: (error) => error instanceof NotHere, status: 404, title: 'Not found' },
  { matches: (error) => error instanceof BadInput, status: 400, title: 'That makes no sense' },
  { matches: (error) => error instanceof Busy, status: 503, title: 'Busy' },
  {
    matches: isTimeout,
    status: 503,
    title: 'Too slow',
    text: 'The database took too long. Narrow it down: by a business, a shorter time, or an id.',
  },
  {
    matches: (error) => statusOf(error) === 400 || statusOf(error) === 413 || statusOf(error) === 415,
    status: 400,
    title: 'The form cannot be read',
    text: 'Go back, reload the page, and try again.',
  },
];

const unknown = { status: 500, title: 'Internal error', text: 'The log says more.' };

/**
 * Tells of an error on a page, without its text where that may come from elsewhere.
 *
 * @returns the status
 */
export function sendError(res: Response, error: unknown): number {
  if (res.headersSent) {
    res.destroy();
    return 500;
  }
  const {
    status,
    title,
    text = (error as Error).message,
  }: Omit<Kind, 'matches'> = kinds.find(({ matches }) => matches(error)) ?? unknown;
  if (!res.locals.visit) sendBarePage(res, status, title, <h1>{title}</h1>);
  else sendPage(res, { title, status }, <p>{text}</p>);
  return status;
}
