import type { Response } from 'express';
import { duesByAge, lists } from '../lists/definitions.ts';
import { sendDownload } from '../lists/download.ts';
import { type FormatName, formatNames } from '../lists/files.ts';
import type { List } from '../lists/list.ts';
import { ListBar, ListPage } from '../lists/list-page.tsx';
import {
  addUp,
  columnsOf,
  pageRows,
  readGroups,
  readPage,
  readPatients,
  readTotals,
} from '../lists/query.ts';
import { describeAccess, readListQuery } from '../lists/request.ts';
import { titlesOf } from '../lists/system-lists.ts';
import { type Page, PageNotFound, TooManyDownloads } from '../page.ts';
import { sendPage } from '../ui/send-page.tsx';
import { aboveCallbacks } from './callbacks.tsx';
import { createTakings } from './takings.tsx';

/** Each has one of the few connections for minutes. */
const maxDownloads = 2;

/** Lists and their files. Who may see personal data sees it, each time after an entry of the access log. */
export const listPages: Page = (routes, context) => {
  const { config, families, read, logAccess } = context;

  const readTakings = createTakings(config.reportTimezone);
  const own = lists.map((list) =>
    list.choices.family ? { ...list, choices: { ...list.choices, family: titlesOf(families) } } : list,
  );
  for (const list of own)
    routes.get(`/${list.name}`, list.role ?? 'viewer', async (req, res) => {
      const { subjects, ...page } = await read(async (tx) => {
        const query = await readListQuery(tx, list, res, config);
        const { page = 1 } = query;
        const offset = (page - 1) * pageRows;
        const { groups, ...taken } = list.groupBy ? await readTakings(tx, query) : {};
        const rows = groups?.slice(offset, offset + pageRows) ?? (await readPage(tx, query, offset));
        const totals = groups ? addUp(query, groups) : await readTotals(tx, query);
        const ages = list.choices.age
          ? await readGroups(tx, { ...query, list: duesByAge, entered: { ...query.entered, age: undefined } })
          : undefined;
        const subjects = await readPatients(tx, list, rows);
        const above = list.name === 'callbacks' ? await aboveCallbacks(tx, query, req) : undefined;
        return { query, rows, totals, ages, subjects, above, ...taken };
      });
      const { query } = page;
      const { length: rows } = page.rows;
      if (rows === 0 && (query.page ?? 1) > 1) throw new PageNotFound('The list has fewer pages.');
      const isLog = list.role === 'privacy';
      if (isLog || columnsOf(query).some(({ personal }) => personal))
        await logAccess(res, { action: isLog ? 'audit' : 'list', ...describeAccess(query, rows, subjects) });
      sendPage(res, list.title, <ListPage {...page} />, { bar: <ListBar {...query} /> });
    });

  let running = 0;
  const download = async (list: List, format: FormatName, res: Response) => {
    const query = await read((tx) => readListQuery(tx, list, res, config));
    if (running >= maxDownloads) throw new TooManyDownloads();
    running += 1;
    try {
      await sendDownload(res, context, query, format);
    } finally {
      running -= 1;
    }
  };
  for (const list of own)
    for (const format of formatNames)
      routes.get(`/${list.name}/${format}`, list.role ?? 'viewer', (_req, res) =>
        download(list, format, res),
      );
};
