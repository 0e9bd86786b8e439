import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import QueryStream from 'pg-query-stream';
import { csvWriter } from '../../csv.ts';
import { Busy } from '../errors.ts';
import type { RowsSummary } from './queries.ts';

// Small, so that callbacks are handled in between.
const batchSize = 100;

/** When a download is aborted: it occupies one of two connections, and its transaction holds vacuum back. */
export interface DownloadLimits {
  /** Time without the client reading anything. */
  stalledMs: number;
  totalMs: number;
}

export interface Download {
  /** The rows. */
  query: CompiledQuery;
  /** How many there are, and whose. */
  summary: CompiledQuery<RowsSummary>;
  /** Logs the download, before the first row is sent. */
  record: (summary: RowsSummary) => Promise<void>;
  columns: readonly string[];
  /** Of the file. */
  name: string;
  limits: DownloadLimits;
}

/**
 * Streams a query's rows as CSV, with a cursor that follows the speed of the client. An aborted download ends in
 * the middle of a chunked response, which the client notices. One snapshot contains what is logged and what is sent.
 *
 * @throws Busy where no connection is free; the database's error or LogUnavailable before anything was sent
 */
export async function sendCsv(res: Response, pool: pg.Pool, download: Download): Promise<void> {
  const { query, summary, record, columns, name, limits } = download;
  const client = await pool.connect().catch(() => {
    throw new Busy('The maximum number of downloads is running. Try again later.');
  });
  const watch = abortWhenStalled(res, limits);
  let broken: Error | undefined;
  try {
    await client.query('begin isolation level repeatable read read only');
    const { rows: summaries } = await client.query<RowsSummary>(summary.sql, [...summary.parameters]);
    await record(summaries[0]!);
    const rows = client.query(new QueryStream(query.sql, [...query.parameters], { batchSize }));
    res.setHeader('Content-Type', 'text/csv; charset=utf-8; header=present');
    res.setHeader('Content-Disposition', `attachment; filename="${name}.csv"`);
    await pipeline(rows, csvWriter(columns), res);
    await client.query('commit');
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
