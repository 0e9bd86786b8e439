import type { Request, Response } from 'express';
import type { Db } from '../../receiver/store/tables.ts';
import { type List, lists, titlesOf } from '../lists/definitions.ts';
import { sendDownload } from '../lists/download.ts';
import { type FormatName, fileNameOf, formatNames, formats } from '../lists/files.ts';
import { ListBar, ListPage, ListTabs } from '../lists/list-page.tsx';
import {
  columnsOf,
  fileColumnsOf,
  findUnknown,
  type ListQuery,
  pageRows,
  queryRows,
  querySummary,
  readAges,
  readPage,
  readTotals,
  summarize,
} from '../lists/query.ts';
import { readBusinesses } from '../lists/read.ts';
import { type ListRequest, readListRequest } from '../lists/request.ts';
import { BadInput, hasRole, type Page, TooManyDownloads } from '../page.ts';
import { Faults } from '../ui/chips.tsx';
import { hrefTo, visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { AboveLog } from './access-log.tsx';
import { aboveCallbacks } from './callbacks.tsx';

/** Each has one of the few connections for minutes. */
const maxDownloads = 2;

/** Lists and their files. Who may see personal data sees it, each time after an entry of the access log. */
export const listPages: Page = (routes, context) => {
  const { config, db, families, read, logAccess } = context;

  const readRequest = async (tx: Db, list: List, req: Request, res: Response) => {
    const visit = visitOf(res);
    const request = readListRequest(req.query, list, config, visit.aliases);
    const businesses = await readBusinesses(tx);
    const known = { families, aliases: visit.aliases };
    Object.assign(request.faults, await findUnknown(tx, request.filter, businesses, known));
    const query: ListQuery = { list, filter: request.filter, isPersonal: hasRole(res, 'desk'), businesses };
    const sort = query.filter.sort?.replace('-', '');
    // The order would tell what the role hides.
    if (sort && !columnsOf(query).some(({ name }) => name === sort)) request.faults.sort = 'Unknown column.';
    return { ...request, query };
  };

  const own = lists.map((list) =>
    list.choices.family ? { ...list, choices: { ...list.choices, family: titlesOf(families) } } : list,
  );
  for (const list of own)
    routes.get(`/${list.name}`, list.role, async (req, res) => {
      const { request, page } = await read(async (tx) => {
        const request = await readRequest(tx, list, req, res);
        const { query, faults } = request;
        if (Object.keys(faults).length > 0) return { request, page: undefined };
        const found = await readPage(tx, query, fileColumnsOf(query), query.filter.page ?? 1);
        const rows = found.slice(0, pageRows);
        const totals = await readTotals(tx, query);
        const ages = list.filters.includes('age') ? await readAges(tx, query) : undefined;
        const { patients } = await summarize(tx, query, rows);
        const above =
          list.name === 'callbacks' ? (
            await aboveCallbacks(tx, query, config.reportTimezone, req)
          ) : list.name === 'access-log' ? (
            <AboveLog />
          ) : undefined;
        return { request, page: { rows, more: found.length > pageRows, totals, ages, patients, above } };
      });
      const { query, entered } = request;
      const bar = <ListBar {...request} />;
      if (!page) {
        const content = (
          <>
            <ListTabs {...request} list={list} />
            <Faults faults={request.faults} />
          </>
        );
        return sendPage(res, list.title, content, { status: 400, bar });
      }
      const { patients: subjects, ...shown } = page;
      const { length: rows } = shown.rows;
      if (rows === 0 && shown.totals.rows > 0) {
        const last = `${Math.ceil(shown.totals.rows / pageRows)}`;
        return res.redirect(303, hrefTo(`/${list.name}`, { ...entered, page: last }));
      }
      if (list.role === 'privacy' || columnsOf(query).some(({ personal }) => personal))
        await logAccess(res, { action: list.action, subjects, ...loggedOf(request, query, rows), rows });
      sendPage(res, list.title, <ListPage {...request} {...shown} />, { bar });
    });

  let running = 0;
  const download = async (list: List, format: FormatName, req: Request, res: Response) => {
    const { query, ...request } = await read((tx) => readRequest(tx, list, req, res));
    const faults = Object.values(request.faults);
    if (faults.length > 0) throw new BadInput(faults.join(' '));
    const { aliases, timezone } = visitOf(res);
    const { type, columns, write } = formats[format];
    const file = { query, aliases, timezone };
    const details = { format, personal: query.isPersonal };
    if (running >= maxDownloads) throw new TooManyDownloads();
    running += 1;
    try {
      await sendDownload(res, context, {
        query: queryRows(query, columns(query)).compile(db),
        summary: querySummary(query, config.downloads.maxRows).compile(db),
        logAccess: ({ rows, patients: subjects }) =>
          logAccess(res, { action: 'download', ...loggedOf(request, query, rows, details), rows, subjects }),
        type,
        write: (rows) => write(file, rows),
        fileName: `${fileNameOf(query)}.${format}`,
      });
    } finally {
      running -= 1;
    }
  };
  for (const list of own)
    for (const format of formatNames)
      routes.get(`/${list.name}/${format}`, list.role, (req, res) => download(list, format, req, res));
};

/** The selection in the access log. An id that selects no row may be anything that was typed. */
function loggedOf({ filter }: ListRequest, { list }: ListQuery, rows: number, details = {}) {
  const { business, clinic, doctor, chosen = {}, given: _, ...others } = filter;
  const ids = rows > 0 ? { business, clinic, doctor } : {};
  return { filter: { list: list.name, ...details, ...chosen, ...others }, ids };
}
