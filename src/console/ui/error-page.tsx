import type { Response } from 'express';
import { TooManyRequests } from '../../common/rate-limit.ts';
import { ErasureBlocked, ErasureDelayed } from '../../privacy/erasure/erasure-lock.ts';
import { LogUnavailable } from '../../privacy/log/log-or-refuse.ts';
import { StoreUnavailable } from '../../receiver/store/circuit.ts';
import { MissingRole } from '../../sign-in/rights.ts';
import { ForeignForm } from '../../sign-in/same-origin.ts';
import { isUnavailable } from '../../store/faults.ts';
import { isTimeout } from '../../store/read.ts';
import { BadInput, PageNotFound, TooManyDownloads } from '../errors.ts';
import { sendBarePage, sendPage } from './page.tsx';

interface Kind {
  matches: (error: unknown) => boolean;
  status: number;
  title: string;
  /** Without it, the error's own message is shown. */
  text?: string;
  /** Whether somebody who has not signed in may read the text. */
  forAll?: boolean;
}

const isOf =
  (...types: (abstract new (...values: never[]) => Error)[]) =>
  (error: unknown) =>
    types.some((type) => error instanceof type);

const kinds: Kind[] = [
  { matches: isOf(MissingRole), status: 403, title: 'Not allowed' },
  { matches: isOf(ForeignForm), status: 403, title: 'Not allowed', forAll: true },
  { matches: isOf(PageNotFound), status: 404, title: 'Not found' },
  { matches: isOf(BadInput), status: 400, title: 'Invalid input' },
  { matches: isOf(TooManyDownloads, ErasureDelayed, ErasureBlocked), status: 503, title: 'Busy' },
  {
    matches: isOf(TooManyRequests),
    status: 429,
    title: 'Too many searches',
    text: 'Searches by phone number or name are limited to 30 a minute for each user of the role privacy, 10 for others. Wait a minute.',
  },
  { matches: isOf(LogUnavailable), status: 503, title: 'Access log unavailable', forAll: true },
  {
    matches: isTimeout,
    status: 503,
    title: 'Query timeout',
    text: 'The query took too long. Filter by a business, a shorter period, or an id.',
  },
  {
    matches: (error) => error instanceof StoreUnavailable || isUnavailable(error),
    status: 503,
    title: 'Database unavailable',
    text: 'PostgreSQL is unavailable. Try again in a moment; /readyz and the log of the receiver say more.',
    forAll: true,
  },
  {
    matches: (error) => [400, 413, 415].includes((error as { status?: number } | null)?.status ?? 0),
    status: 400,
    title: 'Invalid form',
    text: 'Go back, reload the page, and try again.',
  },
  { matches: () => true, status: 500, title: 'Internal error', text: 'See the log of the service.' },
];

/**
 * Sends an error page, and in an outage what becomes of callbacks. An unknown error's message is not shown: it may contain data.
 *
 * @returns the status
 */
export function sendError(res: Response, error: unknown, outage?: string): number {
  if (res.headersSent) {
    res.destroy();
    return 500;
  }
  const kind = kinds.find(({ matches }) => matches(error))!;
  const { status, title, text = (error as Error).message } = kind;
  const content = (
    <>
      <p>{text}</p>
      {outage && <p>{outage}</p>}
      {outage && res.locals.visit && (
        <p>
          One page works meanwhile: <a href="/console/health">Health</a>
        </p>
      )}
    </>
  );
  if (res.locals.visit) sendPage(res, title, content, { status });
  else sendBarePage(res, status, title, kind.forAll && content);
  return status;
}
