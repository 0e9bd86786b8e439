import type { Request, Response, Router } from 'express';
import type { ConsoleDependencies } from '../dependencies.ts';
import { NotFound } from '../errors.ts';
import type { ConsoleStore } from '../store.ts';
import { sendPage } from '../ui/page.tsx';
import { sendCsv } from './csv.ts';
import { readReportForm } from './form.ts';
import { ReportList, ReportPage, shownRows } from './pages.tsx';
import { readChart, readColumns, rowsOf } from './query.ts';
import { reports } from './reports.ts';

const section = 'reports';

/** The reporting views as tables, charts and downloads. */
export function addReports(router: Router, dependencies: ConsoleDependencies, store: ConsoleStore): void {
  const { families, timezone, downloads, log } = dependencies;
  const { db } = store.pages;

  router.get('/reports', (_req, res) => sendPage(res, { title: 'Reports', section }, <ReportList />));

  const show = async (req: Request, res: Response, revealed: boolean) => {
    const report = reportOf(req);
    const filter = readReportForm(revealed ? req.body : req.query, timezone);
    const columns = await readColumns(db, report, families);
    const shown = columns.filter(({ personal }) => revealed || !personal);
    const [{ rows }, figures] = await Promise.all([
      rowsOf(report, shown, filter, shownRows + 1).execute(db),
      report.chart && readChart(db, report, report.chart, filter),
    ]);
    if (revealed)
      log.info({ report: report.view, ...filter }, 'the console showed personal data of a report');
    const trail = [{ name: 'Reports', href: '/console/reports' }];
    sendPage(
      res,
      { title: report.title, section, trail, charts: figures !== undefined },
      <ReportPage {...{ report, columns, filter, rows, figures, revealed }} />,
    );
  };
  router.get('/reports/:view', (req, res) => show(req, res, false));
  router.post('/reports/:view/personal', (req, res) => show(req, res, true));

  const download = async (req: Request, res: Response, revealed: boolean) => {
    const report = reportOf(req);
    const filter = readReportForm(revealed ? req.body : req.query, timezone);
    const all = await readColumns(db, report, families);
    const columns = all.filter(({ personal }) => revealed || !personal);
    const query = rowsOf(report, columns, filter).compile(store.downloads.db);
    if (revealed)
      log.info({ report: report.view, ...filter }, 'the console exported personal data of a report');
    const name = report.dated ? `${report.view}_${filter.from}_${filter.to}` : report.view;
    const names = columns.map((column) => column.name);
    await sendCsv(res, store.downloads.pool, query, names, name, downloads);
  };
  router.get('/reports/:view/csv', (req, res) => download(req, res, false));
  router.post('/reports/:view/csv', (req, res) => download(req, res, true));
}

function reportOf(req: Request) {
  const report = reports.find(({ view }) => view === req.params.view);
  if (!report) throw new NotFound('There is no such report.');
  return report;
}
