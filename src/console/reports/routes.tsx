import type { Request, Response } from 'express';
import { BadInput, PageNotFound } from '../errors.ts';
import type { Section } from '../section.ts';
import { read, takePage, unlessTimeout } from '../store.ts';
import type { Visit } from '../ui/context.ts';
import { LinkList } from '../ui/link-list.tsx';
import { beginPage, sendPage } from '../ui/page.tsx';
import { filtersOf, readColumns, readComments } from './columns.ts';
import { type FormatName, formatNames, sendDownload } from './download.ts';
import { pageRows, readReportForm, reportHref } from './form.ts';
import { ReportPage, type Sums } from './pages.tsx';
import * as queries from './queries.ts';
import { type Report, reports, shortcuts, titleOf } from './reports.ts';

const findReport = (view: unknown): Report => {
  const report = reports.find((one) => one.view === view);
  if (!report) throw new PageNotFound('There is no such report.');
  return report;
};

/** The reporting views as tables, charts and downloads. */
export const section: Section = {
  entry: { title: 'Reports', path: '/reports' },
  addRoutes(routes, dependencies) {
    const { timezone, downloads, db, downloadPool, logAccess } = dependencies;

    routes.get('/reports', 'viewer', async (_req, res) => {
      sendPage(res, 'Reports', <ReportList comments={await readComments(db)} />);
    });

    /** The columns and the rows of a report that a form names; columns with personal data only if `revealed`. */
    const parse = async (report: Report, form: Record<string, unknown>, revealed: boolean) => {
      const asked = readReportForm(form, report, timezone);
      const { filter } = asked;
      const columns = await readColumns(db, report);
      const shown = columns.filter(({ personal }) => revealed || !personal);
      const sort = filter.sort?.replace('-', '');
      if (sort && !shown.some(({ name }) => name === sort)) throw new BadInput('Unknown column.');
      return { ...asked, report, columns, shown, from: queries.fromView(report, columns, filter) };
    };

    const show = async (req: Request, res: Response, revealed: boolean) => {
      const report = findReport(req.params.view);
      const parsed = await parse(report, revealed ? req.body : req.query, revealed);
      const { filter, columns, shown, from } = parsed;
      const { sort, page = 1 } = filter;
      const ofAnyAge = queries.fromView(report, columns, { ...filter, age: undefined });
      const title = titleOf(report);
      if (!revealed) beginPage(res, title, { charts: true });
      const comment = (await readComments(db)).get(report.view);
      const sums: Sums = {};
      // One after the other: pages have two connections.
      const readSums = async () => {
        sums.totals = await queries.readTotals(db, report, shown, from);
        if (report.chart) sums.figures = await queries.readChart(db, report.chart, from, filter);
        if (filtersOf(columns).age !== undefined) sums.ages = await queries.readAges(db, ofAnyAge);
      };
      const [found] = await Promise.all([
        unlessTimeout(read(db, queries.queryRows(report, shown, from, { sort, page }))),
        unlessTimeout(readSums()),
      ]);
      const { rows, more } = takePage(found ?? [], pageRows);
      if (revealed) {
        const patients = queries.patientsOf(rows);
        const logged = { report: report.view, ...filter };
        await logAccess(res, { action: 'reveal', patients, filter: logged, rows: rows.length });
      }
      const shownRows = { rows: found && rows, more, ...sums, revealed };
      sendPage(res, title, <ReportPage {...{ ...parsed, comment, ...shownRows }} />, { charts: true });
    };
    routes.get('/reports/:view', 'viewer', (req, res) => show(req, res, false));
    routes.post('/reports/:view/personal', 'privacy', (req, res) => show(req, res, true));

    const download = async (req: Request, res: Response, format: FormatName, revealed: boolean) => {
      const report = findReport(req.params.view);
      const { filter, columns, shown, from } = await parse(report, revealed ? req.body : req.query, revealed);
      const days = filtersOf(columns).day ? [filter.from, filter.to] : [];
      const logged = { report: report.view, ...filter, format, personal: revealed };
      await sendDownload(res, downloadPool, {
        query: queries.queryRows(report, shown, from, { sort: filter.sort }).compile(db),
        summary: queries.querySummary(shown, from).compile(db),
        logAccess: (summary) => logAccess(res, { action: 'download', filter: logged, ...summary }),
        columns: shown,
        format,
        aliases: (res.locals.visit as Visit).aliases,
        name: [report.view, revealed && 'personal', ...days].filter(Boolean).join('_'),
        limits: downloads,
      });
    };
    for (const format of formatNames) {
      routes.get(`/reports/:view/${format}`, 'viewer', (req, res) => download(req, res, format, false));
      routes.post(`/reports/:view/${format}`, 'privacy', (req, res) => download(req, res, format, true));
    }
  },
};

/**
 * Pages for what is often asked, and all reports.
 *
 * @param comments the comments on the views, by name
 */
function ReportList({ comments }: { comments: ReadonlyMap<string, string> }) {
  return (
    <>
      <LinkList label="Often asked" links={shortcuts} />
      <p>
        These are the views of the schema <code>reporting</code>. SQL clients and BI tools can query them too.
      </p>
      <ul class="reports">
        {reports.map((report) => (
          <li key={report.view}>
            <a href={reportHref(report.view)}>{titleOf(report)}</a>
            <p>{comments.get(report.view)}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
