import type { Response } from 'express';
import { TooManyRequests } from '../common/rate-limit.ts';
import { UnknownMessage } from '../privacy/erase.ts';
import { PatientTooLarge } from '../privacy/patient.ts';
import { isUnavailable } from '../receiver/store/errors.ts';
import { BadInput, NotAllowed, PageNotFound, TooManyDownloads } from './page.ts';
import { sendBarePage, sendPage } from './ui/send-page.tsx';

type Matches = (error: { status?: number; code?: string } & Error) => boolean;
type Kind = readonly [Matches, status: number, title: string, text?: string];

const is =
  (...types: (abstract new (...args: never[]) => Error)[]): Matches =>
  (error) =>
    types.some((type) => error instanceof type);

// statement_timeout, and the statements after it
const isCanceled: Matches = ({ code }) => code === '57014' || code === '25P02';
const isInvalidForm: Matches = ({ status = 0 }) => [400, 413, 415].includes(status);

/** Without a text, the error's own message is shown. */
const kinds: readonly Kind[] = [
  [is(NotAllowed), 403, 'Not allowed'],
  [is(PageNotFound), 404, 'Not found'],
  [is(BadInput, PatientTooLarge, UnknownMessage), 400, 'Please check your entry'],
  [is(TooManyDownloads), 503, 'Busy'],
  [is(TooManyRequests), 429, 'Too many searches', 'Wait a minute, and search again.'],
  [
    isCanceled,
    503,
    'Query timeout',
    'The query took too long. Choose a business, a shorter period, or an id.',
  ],
  [
    isUnavailable,
    503,
    'Database unavailable',
    'PostgreSQL is unavailable, so no page can be shown. Try again in a moment; /readyz says whether callbacks are taken.',
  ],
  [isInvalidForm, 400, 'Invalid form', 'Go back, reload the page, and try again.'],
  // Its message may contain data.
  [() => true, 500, 'Internal error', 'See the log of the receiver.'],
];

/** @returns the status */
export function sendError(res: Response, error: Error): number {
  if (res.headersSent) {
    res.destroy();
    return 500;
  }
  const [, status, title, text = error.message] = kinds.find(([matches]) => matches(error))!;
  const content = (
    <>
      <p>{text}</p>
      {status === 400 && res.req.method === 'GET' && (
        <p>
          <a href={res.req.originalUrl.split('?')[0]!}>Without filters</a>
        </p>
      )}
    </>
  );
  if (res.locals.visit) sendPage(res, title, content, { status });
  else sendBarePage(res, status, title, content);
  return status;
}
