import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import QueryStream from 'pg-query-stream';
import { formatCount } from '../../common/words.ts';
import { inTransaction, snapshot } from '../../receiver/store/pools.ts';
import { BadInput, type PageContext } from '../page.ts';
import { visitOf } from '../ui/context.ts';
import { type FormatName, fileNameOf, formats } from './files.ts';
import { type ListQuery, matching, queryRows, type RowsSummary, summaryOf } from './query.ts';
import { describeAccess } from './request.ts';

// Small, so that callbacks are handled in between, and large values fit.
const batchSize = 25;

/**
 * Streams a list as a file, with a cursor that follows the speed of the client. An aborted download ends in
 * the middle of a chunked response, which the client notices. One snapshot contains what is logged and what is sent.
 *
 * @throws BadInput where there are too many rows; the database's error, or that of the access log, before anything was sent
 */
export async function sendDownload(
  res: Response,
  { reports, db, config, logAccess }: PageContext,
  query: ListQuery,
  format: FormatName,
): Promise<void> {
  const { type, columns: columnsFor, writer } = formats[format];
  const { stalledMs, totalMs, maxRows } = config.downloads;
  const settings = `${snapshot}; set local timezone = '${config.reportTimezone}';
    set local statement_timeout = ${totalMs}; set local idle_in_transaction_session_timeout = 0`;
  const columns = columnsFor(query);
  const counted = summaryOf(query.list, matching(query), maxRows).compile(db);
  const { sql, parameters } = queryRows(query, columns).compile(db);
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  // A reader that has stopped would keep a connection, and its transaction would hold vacuum back.
  res.setTimeout(stalledMs, () => void (res.writableNeedDrain && res.destroy()));
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(totalMs)]);
  const send = inTransaction(
    reports,
    settings,
    async (client) => {
      const counting = { text: counted.sql, values: [...counted.parameters], query_timeout: totalMs };
      const [summary] = (await client.query<RowsSummary>(counting)).rows;
      const { rows: count, patients } = summary!;
      if (count > maxRows)
        throw new BadInput(`A download takes ${formatCount(maxRows)} rows. Choose a business or fewer days.`);
      // Who gets nothing personal has not looked at anybody.
      const subjects = columns.some(({ personal }) => personal) ? patients : [];
      const details = { format, personal: query.isPersonal };
      await logAccess(res, { action: 'download', ...describeAccess(query, count, subjects, details) });
      res.type(type).attachment(`${fileNameOf(query)}.${format}`);
      const rows = client.query(new QueryStream(sql, [...parameters], { batchSize }));
      await pipeline(rows, writer(columns, query.list.name, visitOf(res).aliases), res, { signal });
    },
    stalledMs,
  );
  await send.catch((error) => {
    if (!['ABORT_ERR', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code)) throw error;
  });
}
