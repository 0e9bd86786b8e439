import type { ServerResponse } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { CompiledQuery } from 'kysely';
import QueryStream from 'pg-query-stream';
import type { Config } from '../../common/config/config.ts';
import { formatCount } from '../../common/words.ts';
import type { Core } from '../../receiver/feature.ts';
import { BadInput, TooManyDownloads } from '../page.ts';
import type { RowsSummary } from './query.ts';

// Small, so that callbacks are handled in between, and large values fit.
const batchSize = 25;

interface Download {
  query: CompiledQuery;
  summary: CompiledQuery<RowsSummary>;
  /** Logs the download, before the first row is sent. */
  logAccess: (summary: RowsSummary) => Promise<void>;
  type: string;
  /** From rows to the file. */
  write: (rows: number) => Duplex[];
  fileName: string;
}

/**
 * Streams a query's rows, with a cursor that follows the speed of the client. An aborted download ends in
 * the middle of a chunked response, which the client notices. One snapshot contains what is logged and what is sent.
 *
 * @throws TooManyDownloads where no connection is free; BadInput where there are too many rows; the database's error, or that of the
 *   access log, before anything was sent
 */
export async function sendDownload(res: Response, { pool, config }: Core, download: Download): Promise<void> {
  const { query, summary, logAccess, type, write, fileName } = download;
  const { downloads: limits, reportTimezone: timezone } = config;
  const settings = `set local timezone = '${timezone}'; set local statement_timeout = ${limits.totalMs}; set local idle_in_transaction_session_timeout = 0`;
  const client = await pool.connect().catch(() => {
    throw new TooManyDownloads();
  });
  const watch = abortWhenStalled(res, limits);
  let broken: Error | undefined;
  try {
    await client.query(within(limits.stalledMs, 'begin isolation level repeatable read read only'));
    await client.query(within(limits.stalledMs, settings));
    const counted = within(limits.totalMs, summary.sql, summary.parameters);
    const { rows: summaries } = await client.query<RowsSummary>(counted);
    const [counts] = summaries;
    if (counts!.rows > limits.maxRows)
      throw new BadInput(
        `A download takes ${formatCount(limits.maxRows)} rows. Choose a business or fewer days.`,
      );
    await logAccess(counts!);
    res.setHeader('Content-Type', type);
    res.setHeader('Content-Disposition', `attachment; filename="${fileName}"`);
    const rows = () => client.query(new QueryStream(query.sql, [...query.parameters], { batchSize }));
    await sendStream(res, () => [rows(), ...write(counts!.rows)]);
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

const within = (query_timeout: number, text: string, values: readonly unknown[] = []) => ({
  text,
  values: [...values],
  query_timeout,
});

const isDisconnected = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';

const disconnected = () =>
  Object.assign(new Error('The client disconnected.'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });

/**
 * Sends a stream as a response. It ends when the client disconnects, also before the first byte: Node's pipeline through
 * a `Duplex.from` into a closed response never does.
 */
async function sendStream(to: Writable, open: () => readonly [Readable, ...Duplex[]]): Promise<void> {
  if (to.destroyed) throw disconnected();
  const gone = new Promise<never>((_, reject) => {
    to.once('close', () => to.writableFinished || reject(disconnected()));
  });
  await Promise.race([pipeline([...open(), to]), gone]);
}

/** Ends a response whose reader has stopped, or is too slow: meanwhile it occupies a connection, and its transaction holds vacuum back. */
function abortWhenStalled(res: ServerResponse, { stalledMs, totalMs }: Config['downloads']): NodeJS.Timeout {
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
