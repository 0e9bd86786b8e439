import type { Request, Response } from 'express';
import { readAllColumns, readColumns, readComments } from '../../reports/columns.ts';
import { readGroups } from '../../reports/groups.ts';
import * as queries from '../../reports/queries.ts';
import { type Report, titleOf } from '../../reports/report.ts';
import { type ReportGroup, reportGroups, reports } from '../../reports/reports.ts';
import { readAges, readSums } from '../../reports/totals.ts';
import { readBasis } from '../completeness/basis.tsx';
import type { Section } from '../dependencies.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import { actorOf } from '../log-access.ts';
import { oneOf, parseForm, text } from '../read-form.ts';
import { takePage, unlessTimeout } from '../store.ts';
import type { Visit } from '../ui/context.ts';
import { beginPage, sendPage } from '../ui/page.tsx';
import { sendDownload } from './download.ts';
import { describeFile, fileNameOf } from './file-content.ts';
import { readReportForm } from './form.ts';
import { type FormatName, formatNames } from './formats.ts';
import { GroupsPage } from './groups.tsx';
import { readLastDownload } from './last-download.ts';
import { ReportList } from './list.tsx';
import { ReportPage, type Sums } from './pages.tsx';
import { ReportFilters } from './report-filters.tsx';

const q = text.meta({ label: 'Search reports' });
const group = oneOf(Object.keys(reportGroups) as ReportGroup[]);

const findReport = (view: unknown): Report => {
  const report = reports.find((one) => one.view === view);
  if (!report) throw new PageNotFound('There is no such report.');
  return report;
};

export const section: Section = {
  addRoutes(routes, dependencies) {
    const { timezone, downloads, db, downloadPool, logAccess } = dependencies;

    routes.get('/reports', 'viewer', async (req, res) => {
      const { data, ...form } = parseForm(req.query, { q, group });
      const columns = data.q ? await readAllColumns(db) : [];
      const title = data.group ? `Reports: ${reportGroups[data.group].title}` : 'Reports';
      sendPage(res, title, <ReportList {...{ ...data, columns, form }} />);
    });

    /** @throws BadInput */
    const ask = async (req: Request, res: Response, revealed: boolean) => {
      const report = findReport(req.params.view);
      const columns = await readColumns(db, report);
      const shown = columns.filter(({ personal }) => revealed || !personal);
      const { aliases } = res.locals.visit as Visit;
      const form = readReportForm(revealed ? req.body : req.query, {
        report,
        columns,
        shown,
        timezone,
        aliases,
      });
      return { ...form, ...(await queries.askReport(db, { report, columns, shown, filter: form.filter })) };
    };

    const show = async (req: Request, res: Response, revealed: boolean) => {
      const asked = await ask(req, res, revealed);
      const { report, filter, filters, grouped } = asked;
      const title = titleOf(report);
      if (Object.keys(asked.faults).length > 0) {
        sendPage(res, title, <ReportFilters {...asked} />, { status: 400 });
        return;
      }
      if (!revealed) beginPage(res, title, { charts: true });
      if (grouped.group && !revealed) {
        const groups = await unlessTimeout(readGroups(db, asked, grouped));
        sendPage(res, title, <GroupsPage {...asked} groups={groups} />, { charts: true });
        return;
      }
      const comment = (await readComments(db)).get(report.view);
      const sums: Sums = {};
      let lastDownload: Date | undefined;
      // One after the other: pages have two connections.
      const page = unlessTimeout(queries.readPage(db, asked, filter.page ?? 1));
      const { families } = report;
      const { from, to, business } = filter;
      const readAllSums = async () => {
        if (families.length > 0) sums.basis = await readBasis(db, { families, business, from, to });
        Object.assign(sums, await readSums(db, asked, page));
        if (grouped.earlier) sums.groups = await readGroups(db, asked, grouped);
        const ages = filters.age && (await readAges(db, asked));
        if (ages) sums.ages = ages;
        if (filters.since) lastDownload = await readLastDownload(db, actorOf(res), report, filter);
      };
      const [found] = await Promise.all([page, unlessTimeout(readAllSums())]);
      const { rows, more } = takePage(found ?? [], queries.pageRows);
      if (revealed) {
        const patients = queries.patientsOf(rows);
        const logged = { report: report.view, ...filter };
        await logAccess(res, { action: 'reveal', patients, filter: logged, rows: rows.length });
      }
      const shownRows = { rows: found && rows, more, ...sums, revealed, lastDownload };
      sendPage(res, title, <ReportPage {...{ ...asked, comment, ...shownRows }} />, { charts: true });
    };
    routes.get('/reports/:view', 'viewer', (req, res) => show(req, res, false));
    routes.post('/reports/:view/personal', 'privacy', (req, res) => show(req, res, true));

    const download = async (req: Request, res: Response, format: FormatName, revealed: boolean) => {
      const found = await ask(req, res, revealed);
      const faults = Object.values(found.faults);
      if (faults.length > 0) throw new BadInput(faults.join(' '));
      const { report, filter } = found;
      if (filter.part === 'changed' && !filter.since) {
        throw new BadInput('Enter the date and time of the first change. Not every report has that.');
      }
      const asked = filter.part === 'page' ? { ...found, ...queries.onePage(found) } : found;
      const logged = { report: report.view, ...filter, format, personal: revealed };
      const comment = (await readComments(db)).get(report.view);
      await sendDownload(res, downloadPool, {
        query: queries.queryRows(asked).compile(db),
        summary: queries.querySummary(asked).compile(db),
        logAccess: (summary) => logAccess(res, { action: 'download', filter: logged, ...summary }),
        format,
        content: (rows) => describeFile(asked, { comment, revealed, rows }, res.locals.visit as Visit),
        name: fileNameOf(asked, revealed),
        limits: downloads,
      });
    };
    for (const format of formatNames) {
      routes.get(`/reports/:view/${format}`, 'viewer', (req, res) => download(req, res, format, false));
      routes.post(`/reports/:view/${format}`, 'privacy', (req, res) => download(req, res, format, true));
    }
  },
};
