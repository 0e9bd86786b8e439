import type { Request, Response } from 'express';
import type { Db } from '../../receiver/store/tables.ts';
import { duesByAge, lists } from '../lists/definitions.ts';
import { sendDownload } from '../lists/download.ts';
import { type FormatName, formatNames } from '../lists/files.ts';
import type { List } from '../lists/list.ts';
import { ListBar, ListPage } from '../lists/list-page.tsx';
import {
  addUp,
  columnsOf,
  fileColumnsOf,
  type ListQuery,
  pageRows,
  readGroups,
  readPage,
  readTotals,
  summarize,
} from '../lists/query.ts';
import { readListRequest } from '../lists/request.ts';
import { titlesOf } from '../lists/system-lists.ts';
import { hasRole, type Page, PageNotFound, TooManyDownloads } from '../page.ts';
import { visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';
import { aboveCallbacks } from './callbacks.tsx';
import { createTakings } from './takings.tsx';

/** Each has one of the few connections for minutes. */
const maxDownloads = 2;

/** Lists and their files. Who may see personal data sees it, each time after an entry of the access log. */
export const listPages: Page = (routes, context) => {
  const { config, families, read, logAccess } = context;

  const readRequest = (tx: Db, list: List, req: Request, res: Response) =>
    readListRequest(tx, list, req.query, context, hasRole(res, 'desk'));

  const readTakings = createTakings(config.reportTimezone);
  const own = lists.map((list) =>
    list.choices.family ? { ...list, choices: { ...list.choices, family: titlesOf(families) } } : list,
  );
  for (const list of own)
    routes.get(`/${list.name}`, list.role ?? 'viewer', async (req, res) => {
      const { subjects, ...page } = await read(async (tx) => {
        const request = await readRequest(tx, list, req, res);
        const { page = 1 } = request.filter;
        const { groups, ...taken } = list.groupBy ? await readTakings(tx, request) : {};
        const found =
          groups?.slice((page - 1) * pageRows) ?? (await readPage(tx, request, fileColumnsOf(request), page));
        const rows = found.slice(0, pageRows);
        const totals = groups ? addUp(request, groups) : await readTotals(tx, request);
        const ages = list.choices.age
          ? await readGroups(tx, { ...request, list: duesByAge, filter: { ...request.filter, chosen: {} } })
          : undefined;
        const { patients: subjects } = await summarize(tx, request, rows);
        const above = list.name === 'callbacks' ? await aboveCallbacks(tx, request, req) : undefined;
        const more = found.length > pageRows;
        return { request, rows, more, totals, ages, subjects, above, ...taken };
      });
      const { request, totals } = page;
      const { length: rows } = page.rows;
      if (rows === 0 && totals.rows > 0) throw new PageNotFound('The list has fewer pages.');
      const isLog = list.role === 'privacy';
      if (isLog || columnsOf(request).some(({ personal }) => personal))
        await logAccess(res, {
          action: isLog ? 'audit' : 'list',
          subjects,
          ...loggedOf(request, rows),
          rows,
        });
      sendPage(res, list.title, <ListPage {...page} />, { bar: <ListBar {...request} /> });
    });

  let running = 0;
  const download = async (list: List, format: FormatName, req: Request, res: Response) => {
    const query = await read((tx) => readRequest(tx, list, req, res));
    const details = { format, personal: query.isPersonal };
    if (running >= maxDownloads) throw new TooManyDownloads();
    running += 1;
    try {
      await sendDownload(res, context, query, format, visitOf(res).aliases, ({ rows, patients: subjects }) =>
        logAccess(res, { action: 'download', ...loggedOf(query, rows, details), rows, subjects }),
      );
    } finally {
      running -= 1;
    }
  };
  for (const list of own)
    for (const format of formatNames)
      routes.get(`/${list.name}/${format}`, list.role ?? 'viewer', (req, res) =>
        download(list, format, req, res),
      );
};

/** The selection in the access log. An id that selects no row may be anything that was typed. */
function loggedOf({ list, filter }: ListQuery, rows: number, details = {}) {
  const { business, clinic, doctor, chosen = {}, given: _, ...others } = filter;
  const ids = rows > 0 ? { business, clinic, doctor } : {};
  return { filter: { list: list.name, ...details, ...chosen, ...others }, ids };
}
