import type { Request, Response } from 'express';
import type { Db } from '../../receiver/store/tables.ts';
import { aliasKinds } from '../../reconcile/aliases.ts';
import { BadInput, hasRole, type Page, PageNotFound, TooManyDownloads } from '../page.ts';
import { oneOf, readForm } from '../read-form.ts';
import { reports as definitions, type ReportGroup, reportGroups, titleOf } from '../reports/definitions.ts';
import { sendDownload } from '../reports/download.ts';
import { describeFile, type FormatName, fileNameOf, formatNames } from '../reports/files.ts';
import { type ReportRequest, readReportForm, reportHref } from '../reports/form.ts';
import {
  isKnown,
  matching,
  pageRows,
  queryRows,
  readAges,
  readPage,
  readTotals,
  summarize,
  summaryOf,
} from '../reports/queries.ts';
import { readBusinesses } from '../reports/read.ts';
import { readColumns, readComments } from '../reports/report-columns.ts';
import { ReportFilters, ReportList, ReportPage } from '../reports/report-page.tsx';
import { visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';

const group = oneOf(Object.keys(reportGroups) as ReportGroup[]);
/** Each has one of the few connections for minutes. */
const maxDownloads = 2;

/** Reports and their downloads. Who may see personal data sees it, each time after an entry of the access log. */
export const reports: Page = (routes, context) => {
  const { config, db, families, read, logAccess } = context;

  routes.get('/reports', 'viewer', (req, res) => {
    const { data } = readForm(req.query, { group });
    const title = data.group ? `Reports: ${reportGroups[data.group].title}` : 'Reports';
    sendPage(res, title, <ReportList {...data} />);
  });

  const readRequest = async (tx: Db, req: Request, res: Response) => {
    const report = definitions.find(({ view }) => view === req.params.view);
    if (!report) throw new PageNotFound('There is no such report.');
    const all = await readColumns(tx, report);
    const columns = all.filter(({ personal }) => !personal || hasRole(res, 'desk'));
    const source = { report, columns, businesses: await readBusinesses(tx) };
    const visit = visitOf(res);
    const request = readReportForm(req.query, source, visit);
    for (const kind of aliasKinds) {
      const id = request.filter[kind];
      // Otherwise a misspelt name would have sums of nothing.
      if (id && !visit.aliases?.[kind].has(id) && !(await isKnown(tx, kind, id, source, families)))
        request.faults[kind] ??= `No ${kind} is called ${id}.`;
    }
    const comment = (await readComments(tx)).get(report.view);
    const isPersonal = columns.some(({ personal }) => personal);
    return { request, comment, isPersonal, hidden: all.length - columns.length };
  };

  routes.get('/reports/:view', 'viewer', async (req, res) => {
    const { request, comment, isPersonal, hidden, page } = await read(async (tx) => {
      const opened = await readRequest(tx, req, res);
      const { request } = opened;
      const { filter, columns, hasAges } = request;
      if (Object.keys(request.faults).length > 0) return { ...opened, page: undefined };
      const readRows = await readPage(tx, request, filter.page ?? 1);
      const rows = readRows.slice(0, pageRows);
      const totals = await readTotals(tx, request);
      const ages = hasAges && !filter.receipt ? await readAges(tx, request) : undefined;
      const { patients } = await summarize(tx, columns, rows);
      return { ...opened, page: { rows, more: readRows.length > pageRows, totals, ages, patients } };
    });
    const title = titleOf(request.report);
    if (!page) return sendPage(res, title, <ReportFilters {...request} />, { status: 400 });
    const { patients: subjects, ...shown } = page;
    const rows = shown.rows.length;
    if (rows === 0 && shown.totals.rows > 0) {
      const last = `${Math.ceil(shown.totals.rows / pageRows)}`;
      return res.redirect(303, reportHref(request.report.view, { ...request.entered, page: last }));
    }
    if (isPersonal) await logAccess(res, { action: 'reveal', subjects, ...loggedOf(request, rows), rows });
    const content = (
      <>
        {hidden > 0 && <p class="note">Names and phones are hidden: they take the role desk.</p>}
        <ReportPage {...request} {...shown} comment={comment} />
      </>
    );
    sendPage(res, title, content);
  });

  let running = 0;
  const download = async (req: Request, res: Response, format: FormatName) => {
    const { request, isPersonal, comment } = await read((tx) => readRequest(tx, req, res));
    const faults = Object.values(request.faults);
    if (faults.length > 0) throw new BadInput(faults.join(' '));
    const { aliases, timezone } = visitOf(res);
    const around = { comment, revealed: isPersonal, aliases, timezone };
    const details = { format, personal: isPersonal };
    if (running >= maxDownloads) throw new TooManyDownloads();
    running += 1;
    try {
      await sendDownload(res, context, {
        query: queryRows(request).compile(db),
        summary: summaryOf(request.columns, matching(request), config.downloads.maxRows).compile(db),
        logAccess: ({ rows, patients: subjects }) =>
          logAccess(res, { action: 'download', ...loggedOf(request, rows, details), rows, subjects }),
        format,
        content: (rows) => describeFile(request, { ...around, rows }),
        name: fileNameOf(request, isPersonal),
      });
    } finally {
      running -= 1;
    }
  };
  for (const format of formatNames)
    routes.get(`/reports/:view/${format}`, 'viewer', (req, res) => download(req, res, format));
};

/** The selection in the access log. An id that selects no row may be anything that was typed. */
function loggedOf({ report, filter }: ReportRequest, rows: number, details = {}) {
  const { business, clinic, doctor, receipt, ...others } = filter;
  const ids = rows > 0 ? { business, clinic, doctor, receipt } : {};
  return { filter: { report: report.view, ...details, ...others }, ids };
}
