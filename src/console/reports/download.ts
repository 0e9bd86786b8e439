import { Duplex } from 'node:stream';
import type { Response } from 'express';
import type { CompiledQuery } from 'kysely';
import type pg from 'pg';
import QueryStream from 'pg-query-stream';
import { csvWriter } from '../../common/csv.ts';
import type { Config } from '../../config/config.ts';
import { aliasKindOf, type TypedColumn } from '../../reports/column-kinds.ts';
import type { ReportRow, RowsSummary } from '../../reports/queries.ts';
import type { Aliases } from '../../store/aliases.ts';
import { BadInput, TooManyDownloads } from '../errors.ts';
import { isDisconnected, sendStream } from '../send-stream.ts';
import { cellKindOf } from '../ui/field-value.tsx';
import { formatCount } from '../ui/values.tsx';
import { type XlsxColumn, xlsxWriter } from './xlsx.ts';

interface Format {
  label: string;
  /** The content type. */
  type: string;
  ending: string;
  /** More rows are not sent. */
  mostRows?: number;
  /** The stages between the rows and the response. */
  write: (columns: readonly TypedColumn[], aliases: Aliases | undefined) => Duplex[];
}

/** The columns that ids of businesses, clinics and doctors have their aliases in. */
const aliasesOf = (columns: readonly TypedColumn[]) =>
  columns.flatMap(({ name: id }) => {
    const kind = aliasKindOf(id);
    return kind ? [{ id, kind, name: `${id.replace(/_id$/, '')}_alias` }] : [];
  });

/** The cells of a spreadsheet: an id is followed by its alias. */
const cellsOf = (columns: readonly TypedColumn[]): XlsxColumn[] =>
  columns.flatMap((column) => [
    { name: column.name, kind: cellKindOf(column) },
    ...aliasesOf([column]).map(({ name }) => ({ name, kind: 'text' as const })),
  ]);

/** The stage that adds the aliases. */
const addAliases = (columns: readonly TypedColumn[], aliases: Aliases | undefined) =>
  Duplex.from(async function* (rows: AsyncIterable<ReportRow>) {
    const added = aliasesOf(columns);
    for await (const row of rows) {
      const values = added.map(({ id, kind, name }) => [name, aliases?.[kind].get(row[id] ?? '') ?? null]);
      yield { ...row, ...Object.fromEntries(values) };
    }
  });

/**
 * What a report can be downloaded as. Machines read the CSV: its columns are those of the view, then the aliases of each
 * kind that has some.
 */
const known = {
  csv: {
    label: 'CSV for machines',
    type: 'text/csv; charset=utf-8; header=present',
    ending: 'csv',
    write: (columns, aliases) => {
      const added = aliasesOf(columns).filter(({ kind }) => aliases?.[kind].size);
      return [
        addAliases(columns, aliases),
        csvWriter(
          [...columns, ...added].map(({ name }) => name),
          { forMachines: true },
        ),
      ];
    },
  },
  xlsx: {
    label: 'Excel',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ending: 'xlsx',
    mostRows: 500_000,
    write: (columns, aliases) => [addAliases(columns, aliases), xlsxWriter(cellsOf(columns))],
  },
} satisfies Record<string, Format>;
export type FormatName = keyof typeof known;
export const formats: Readonly<Record<FormatName, Format>> = known;
export const formatNames = Object.keys(known) as FormatName[];

// Small, so that callbacks are handled in between.
const batchSize = 100;

interface Download {
  query: CompiledQuery;
  /** How many there are, and whose. */
  summary: CompiledQuery<RowsSummary>;
  /** Logs the download, before the first row is sent. */
  logAccess: (summary: RowsSummary) => Promise<void>;
  columns: readonly TypedColumn[];
  format: FormatName;
  aliases: Aliases | undefined;
  /** The file's name, without its ending. */
  name: string;
  limits: Config['downloads'];
}

/**
 * Streams a query's rows, with a cursor that follows the speed of the client. An aborted download ends in
 * the middle of a chunked response, which the client notices. One snapshot contains what is logged and what is sent.
 *
 * @throws TooManyDownloads where no connection is free; BadInput where the format cannot hold the rows; the database's error or
 *   LogUnavailable before anything was sent
 */
export async function sendDownload(res: Response, pool: pg.Pool, download: Download): Promise<void> {
  const { query, summary, logAccess, columns, aliases, name, limits } = download;
  const { type, ending, mostRows, write } = formats[download.format];
  const client = await pool.connect().catch(() => {
    throw new TooManyDownloads('The maximum number of downloads is running. Try again later.');
  });
  const watch = abortWhenStalled(res, limits);
  let broken: Error | undefined;
  try {
    await client.query(within(limits.stalledMs, 'begin isolation level repeatable read read only'));
    const counted = within(limits.totalMs, summary.sql, summary.parameters);
    const { rows: summaries } = await client.query<RowsSummary>(counted);
    if (mostRows && summaries[0]!.rows > mostRows) {
      throw new BadInput(`An Excel file takes ${formatCount(mostRows)} rows. Download CSV, or fewer days.`);
    }
    await logAccess(summaries[0]!);
    res.setHeader('Content-Type', type);
    res.setHeader('Content-Disposition', `attachment; filename="${name}.${ending}"`);
    await sendStream(res, () => [
      client.query(new QueryStream(query.sql, [...query.parameters], { batchSize })),
      ...write(columns, aliases),
    ]);
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

/** A download occupies one of two connections, and its transaction holds vacuum back. */
function abortWhenStalled(res: Response, { stalledMs, totalMs }: Download['limits']): NodeJS.Timeout {
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
