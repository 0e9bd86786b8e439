import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import QueryStream from 'pg-query-stream';
import { csvWriter } from '../../csv.ts';
import { Busy } from '../errors.ts';

// Small, so that callbacks are handled in between.
const batchSize = 100;

/** When a download is aborted: it occupies one of two connections, and its transaction holds vacuum back. */
export interface DownloadLimits {
  /** Time without the client reading anything. */
  stalledMs: number;
  totalMs: number;
}

/**
 * Streams a query's rows as CSV, with a cursor that follows the speed of the client. An aborted download ends in
 * the middle of a chunked response, which the client notices.
 *
 * @throws Busy where no connection is free; the database's error before anything was sent
 */
export async function sendCsv(
  res: Response,
  pool: pg.Pool,
  { sql, parameters }: CompiledQuery,
  columns: readonly string[],
  name: string,
  limits: DownloadLimits,
): Promise<void> {
  const client = await pool.connect().catch(() => {
    throw new Busy('The maximum number of downloads is running. Try again later.');
  });
  const watch = abortWhenStalled(res, limits);
  let broken: Error | undefined;
  try {
    const rows = client.query(new QueryStream(sql, [...parameters], { batchSize }));
    res.setHeader('Content-Type', 'text/csv; charset=utf-8; header=present');
    res.setHeader('Content-Disposition', `attachment; filename="${name}.csv"`);
    await pipeline(rows, csvWriter(columns), res);
  } catch (error) {
    broken = error as Error;
    // The client disconnected.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  } finally {
    clearInterval(watch);
    client.release(broken);
  }
}

function abortWhenStalled(res: Response, { stalledMs, totalMs }: DownloadLimits): NodeJS.Timeout {
  const began = performance.now();
  let moved = began;
  res.on('drain', () => {
    moved = performance.now();
  });
  return setInterval(() => {
    const now = performance.now();
    // Otherwise the download waits for the database.
    if (!res.writableNeedDrain) moved = now;
    if (now - moved > stalledMs || now - began > totalMs) res.destroy();
  }, stalledMs / 4);
}
