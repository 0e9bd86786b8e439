import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { Response } from 'express';
import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import QueryStream from 'pg-query-stream';
import { Busy } from '../errors.ts';

// Small, so that callbacks get their turn in between.
const batchSize = 100;

/** What begins like a formula but is a number, for a spreadsheet too. */
const negativeNumber = /^-\d+(\.\d+)?$/;

/** Turns rows into CSV (RFC 4180). What a spreadsheet would take for a formula is marked as a text by a quote. */
export function csvWriter(columns: readonly string[]) {
  return stringify({
    header: true,
    columns: [...columns],
    record_delimiter: 'windows',
    // It quotes the whole delimiter only, RFC 4180 either half of it.
    quoted_match: /[\r\n]/,
    escape_formulas: true,
    cast: {
      string: (value, { header }) =>
        header || !negativeNumber.test(value) ? value : { value, escape_formulas: false },
    },
  });
}

/** When a download is cut off: its connection is one of a few, and its transaction holds vacuum back. */
export interface DownloadLimits {
  /** After which its reader has taken nothing. */
  stalledMs: number;
  totalMs: number;
}

/**
 * Streams a query's rows as CSV: they are read with a cursor as fast as the other side takes them. A download
 * that is cut off ends in the middle, which the reader sees.
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
    throw new Busy('Other downloads are under way. Try again when they are done.');
  });
  const watch = cutOff(res, limits);
  let broken: Error | undefined;
  try {
    const rows = client.query(new QueryStream(sql, [...parameters], { batchSize }));
    res.setHeader('Content-Type', 'text/csv; charset=utf-8; header=present');
    res.setHeader('Content-Disposition', `attachment; filename="${name}.csv"`);
    await pipeline(rows, csvWriter(columns), res);
  } catch (error) {
    broken = error as Error;
    // Who went away in the middle needs no answer.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  } finally {
    clearInterval(watch);
    client.release(broken);
  }
}

function cutOff(res: Response, { stalledMs, totalMs }: DownloadLimits): NodeJS.Timeout {
  const began = performance.now();
  let moved = began;
  res.on('drain', () => {
    moved = performance.now();
  });
  return setInterval(() => {
    const now = performance.now();
    // Otherwise it is the database that is waited for.
    if (!res.writableNeedDrain) moved = now;
    if (now - moved > stalledMs || now - began > totalMs) res.destroy();
  }, stalledMs / 4);
}
