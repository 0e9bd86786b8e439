import type { Response } from 'express';
import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import QueryStream from 'pg-query-stream';
import type { Config } from '../../common/config/config.ts';
import { BadInput, TooManyDownloads } from '../page.ts';
import { formatCount } from '../ui/values.tsx';
import { type FileContent, type FormatName, formats } from './files/formats.ts';
import type { RowsSummary } from './queries.ts';
import { abortWhenStalled, isDisconnected, sendStream } from './send-stream.ts';

// Small, so that callbacks are handled in between, and large values fit.
const batchSize = 25;

interface Download {
  query: CompiledQuery;
  /** How many there are, and whose. */
  summary: CompiledQuery<RowsSummary>;
  /** Logs the download, before the first row is sent. */
  logAccess: (summary: RowsSummary) => Promise<void>;
  format: FormatName;
  /** What the file has, with the number of its rows. */
  content: (rows: number) => FileContent;
  /** The file's name, without its ending. */
  name: string;
  limits: Config['downloads'];
  /** SQL for the beginning of its transaction. */
  settings: string;
}

/**
 * Streams a query's rows, with a cursor that follows the speed of the client. An aborted download ends in
 * the middle of a chunked response, which the client notices. One snapshot contains what is logged and what is sent.
 *
 * @throws TooManyDownloads where no connection is free; BadInput where the format cannot hold the rows; the database's error, or that
 *   of the access log, before anything was sent
 */
export async function sendDownload(res: Response, pool: pg.Pool, download: Download): Promise<void> {
  const { query, summary, logAccess, format, content, name, limits, settings } = download;
  const { type, ending, write } = formats[format];
  const client = await pool.connect().catch(() => {
    throw new TooManyDownloads('The maximum number of downloads is running. Try again later.');
  });
  const watch = abortWhenStalled(res, limits);
  let broken: Error | undefined;
  try {
    await client.query(within(limits.stalledMs, 'begin isolation level repeatable read read only'));
    await client.query(within(limits.stalledMs, settings));
    const counted = within(limits.totalMs, summary.sql, summary.parameters);
    const { rows: summaries } = await client.query<RowsSummary>(counted);
    if (summaries[0]!.rows > limits.maxRows)
      throw new BadInput(
        `A download takes ${formatCount(limits.maxRows)} rows. Choose a business or fewer days.`,
      );
    await logAccess(summaries[0]!);
    res.setHeader('Content-Type', type);
    res.setHeader('Content-Disposition', `attachment; filename="${name}.${ending}"`);
    const rows = () => client.query(new QueryStream(query.sql, [...query.parameters], { batchSize }));
    await sendStream(res, () => [rows(), ...write(content(summaries[0]!.rows))]);
    // The file is complete, whatever becomes of the connection.
    broken = await client.query(within(limits.stalledMs, 'commit')).then(
      () => undefined,
      (error) => error,
    );
  } catch (error) {
    broken = error as Error;
    if (!isDisconnected(error)) throw error;
  } finally {
    clearInterval(watch);
    client.release(broken);
  }
}

/** A statement that fails where the server does not respond in time. */
const within = (query_timeout: number, text: string, values: readonly unknown[] = []) => ({
  text,
  values: [...values],
  query_timeout,
});
