import type { Request, Response } from 'express';
import type { RouteDependencies } from '../dependencies.ts';
import { NotFound } from '../errors.ts';
import type { Routes } from '../guard.ts';
import { actorOf } from '../record-access.ts';
import { sendPage } from '../ui/page.tsx';
import { sendCsv } from './csv.ts';
import { readReportForm } from './form.ts';
import { ReportList, ReportPage, shownRows } from './pages.tsx';
import { filtersOf, fromView, queryRows, querySummary, readChart, readColumns } from './queries.ts';
import { reports } from './reports.ts';

const section = 'reports';

/** The reporting views as tables, charts and downloads. */
export function addReports(routes: Routes, dependencies: RouteDependencies): void {
  const { families, timezone, downloads, db, downloadPool, record } = dependencies;

  routes.get('/reports', (_req, res) => sendPage(res, { title: 'Reports', section }, <ReportList />));

  /** The report, the columns and the rows that a request names; columns with personal data only if `revealed`. */
  const parse = async (req: Request, revealed: boolean) => {
    const report = reports.find(({ view }) => view === req.params.view);
    if (!report) throw new NotFound('There is no such report.');
    const filter = readReportForm(revealed ? req.body : req.query, timezone, report.days);
    const columns = await readColumns(db, report, families);
    const shown = columns.filter(({ personal }) => revealed || !personal);
    return { report, filter, columns, shown, from: fromView(report, columns, filter) };
  };

  const show = async (req: Request, res: Response, revealed: boolean) => {
    const { report, filter, columns, shown, from } = await parse(req, revealed);
    const [{ rows }, figures] = await Promise.all([
      queryRows(report, shown, from, shownRows + 1).execute(db),
      report.chart && readChart(db, report.chart, from),
    ]);
    if (revealed) {
      const seen = rows.slice(0, shownRows);
      const patients = seen.flatMap(({ patient_id }) => patient_id || []);
      const logged = { report: report.view, ...filter };
      await record({ actor: actorOf(res), action: 'reveal', patients, filter: logged, rows: seen.length });
    }
    const page = { title: report.title, section, back: true, charts: figures !== undefined } as const;
    sendPage(res, page, <ReportPage {...{ report, columns, shown, filter, rows, figures, revealed }} />);
  };
  routes.get('/reports/:view', (req, res) => show(req, res, false));
  routes.post('/reports/:view/personal', (req, res) => show(req, res, true));

  const download = async (req: Request, res: Response, revealed: boolean) => {
    const { report, filter, columns, shown, from } = await parse(req, revealed);
    const { view } = report;
    const name = filtersOf(columns).days ? `${view}_${filter.from}_${filter.to}` : view;
    const names = shown.map((column) => column.name);
    const actor = actorOf(res);
    const logged = { report: view, ...filter, personal: revealed };
    await sendCsv(res, downloadPool, {
      query: queryRows(report, shown, from).compile(db),
      summary: querySummary(shown, from).compile(db),
      record: (summary) => record({ actor, action: 'download', filter: logged, ...summary }),
      columns: names,
      name,
      limits: downloads,
    });
  };
  routes.get('/reports/:view/csv', (req, res) => download(req, res, false));
  routes.post('/reports/:view/csv', (req, res) => download(req, res, true));
}
