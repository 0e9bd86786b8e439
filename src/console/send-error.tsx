import type { Response } from 'express';
import { TooManyRequests } from '../common/rate-limit.ts';
import { PatientTooLarge, UnclearPatient } from '../privacy/patient.ts';
import { isUnavailable } from '../receiver/store/errors.ts';
import { BadInput, NotAllowed, PageNotFound, TooManyDownloads } from './page.ts';
import { ForeignForm } from './sign-in/origin.ts';
import { sendBarePage, sendPage } from './ui/send-page.tsx';

interface Kind {
  matches: (error: { status?: number; code?: string } & Error) => boolean;
  status: number;
  title: string;
  /** Without it, the error's own message is shown. */
  text?: string;
}

const is =
  (...types: (abstract new (...given: never[]) => Error)[]) =>
  (error: unknown) =>
    types.some((type) => error instanceof type);

const kinds: readonly Kind[] = [
  { matches: is(NotAllowed, ForeignForm), status: 403, title: 'Not allowed' },
  { matches: is(PageNotFound, UnclearPatient), status: 404, title: 'Not found' },
  { matches: is(BadInput, PatientTooLarge), status: 400, title: 'Please check your entry' },
  { matches: is(TooManyDownloads), status: 503, title: 'Busy' },
  {
    matches: is(TooManyRequests),
    status: 429,
    title: 'Too many searches',
    text: 'Wait a minute, and search again.',
  },
  {
    // statement_timeout, and the statements after it
    matches: ({ code }) => code === '57014' || code === '25P02',
    status: 503,
    title: 'Query timeout',
    text: 'The query took too long. Choose a business, a shorter period, or an id.',
  },
  {
    matches: isUnavailable,
    status: 503,
    title: 'Database unavailable',
    text: 'PostgreSQL is unavailable, so no page can be shown. Try again in a moment; /readyz says whether callbacks are taken.',
  },
  {
    matches: ({ status }) => [400, 413, 415].includes(status ?? 0),
    status: 400,
    title: 'Invalid form',
    text: 'Go back, reload the page, and try again.',
  },
];
const unknown = { status: 500, title: 'Internal error', text: 'See the log of the receiver.' };

/**
 * Sends an error page; to somebody who has not signed in, without details but for an outage. The message of an unknown error is
 * not shown: it may contain data.
 *
 * @returns the status
 */
export function sendError(res: Response, error: Error): number {
  if (res.headersSent) {
    res.destroy();
    return 500;
  }
  const kind: Omit<Kind, 'matches'> = kinds.find(({ matches }) => matches(error)) ?? unknown;
  const { status, title, text = error.message } = kind;
  const content = <p>{text}</p>;
  if (res.locals.visit) sendPage(res, title, content, { status });
  else sendBarePage(res, status, title, content);
  return status;
}
