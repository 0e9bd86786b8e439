import type { Request, Response } from 'express';
import { readColumns, readComments } from '../../reports/columns.ts';
import { describeFile, fileNameOf } from '../../reports/files/file-content.ts';
import { type FormatName, formatNames } from '../../reports/files/formats.ts';
import * as queries from '../../reports/queries.ts';
import { type Report, titleOf } from '../../reports/report.ts';
import { type ReportGroup, reportGroups, reports } from '../../reports/reports.ts';
import { readAges, readTotals } from '../../reports/totals.ts';
import { findPeople } from '../../search/find.ts';
import { readPeople } from '../../search/people.ts';
import { takePage, unlessTimeout } from '../../store/read.ts';
import type { Section } from '../dependencies.ts';
import { BadInput, PageNotFound } from '../errors.ts';
import { oneOf, readForm, text } from '../read-form.ts';
import { actorOf, type Visit } from '../ui/context.ts';
import { sendPage } from '../ui/page.tsx';
import { sendDownload } from './download.ts';
import { type AskedForm, readReportForm } from './form.ts';
import { ReportList } from './list.tsx';
import { ReportPage, type Sums } from './pages.tsx';
import { PatientChoice, ReportFilters } from './report-filters.tsx';

const group = oneOf(Object.keys(reportGroups) as ReportGroup[]);

const findReport = (view: unknown): Report => {
  const report = reports.find((one) => one.view === view);
  if (!report) throw new PageNotFound('There is no such report.');
  return report;
};

export const section: Section = {
  addRoutes(routes, dependencies) {
    const { timezone, downloads, db, downloadPool, logAccess, searches } = dependencies;

    routes.get('/reports', 'viewer', (req, res) => {
      const { data } = readForm(req.query, { group });
      const title = data.group ? `Reports: ${reportGroups[data.group].title}` : 'Reports';
      sendPage(res, title, <ReportList {...data} />);
    });

    /** @throws BadInput */
    const ask = async (res: Response, view: unknown, form: Request['body'], revealed: boolean) => {
      const report = findReport(view);
      const columns = await readColumns(db, report);
      const shown = columns.filter(({ personal }) => revealed || !personal);
      const { aliases } = res.locals.visit as Visit;
      const asked = readReportForm(form, { report, columns, shown, timezone, aliases, revealed });
      return { ...asked, ...queries.askReport({ report, columns, shown, filter: asked.filter }) };
    };

    const show = async (res: Response, view: unknown, form: Request['body'], revealed: boolean) => {
      const asked = await ask(res, view, form, revealed);
      const { report, filter, filters } = asked;
      const title = titleOf(report);
      if (Object.keys(asked.faults).length > 0) {
        sendPage(res, title, <ReportFilters {...asked} />, { status: 400 });
        return;
      }
      const comment = (await readComments(db)).get(report.view);
      const sums: Sums = {};
      // One after the other: pages have two connections.
      const page = unlessTimeout(queries.readPage(db, asked, filter.page ?? 1));
      const { patient } = filter;
      const readAllSums = async () => {
        sums.totals = await readTotals(db, asked);
        if (filters.age && !filter.receipt) sums.ages = await readAges(db, asked);
      };
      const [found] = await Promise.all([page, unlessTimeout(readAllSums())]);
      const { rows, more } = takePage(found ?? [], queries.pageRows);
      const [person] = patient ? await readPeople(db, dependencies.families, [patient]) : [];
      if (revealed) {
        const patients = [...queries.patientsOf(rows), ...(patient ? [patient] : [])];
        await logAccess(res, { action: 'reveal', patients, filter: loggedOf(asked), rows: rows.length });
      }
      const shownRows = { rows: found && rows, more, ...sums, revealed, person };
      sendPage(res, title, <ReportPage {...{ ...asked, comment, ...shownRows }} />);
    };
    routes.get('/reports/:view', 'viewer', (req, res) => show(res, req.params.view, req.query, false));
    routes.post('/reports/:view/personal', 'privacy', (req, res) =>
      show(res, req.params.view, req.body, true),
    );
    routes.post('/reports/:view/patient', 'privacy', async (req, res) => {
      const { view } = req.params;
      const { who } = readForm(req.body, { who: text }).data;
      if (!who)
        throw new BadInput('Enter a name, a phone number, its last four digits, or the id of a patient.');
      const { report, entered } = await ask(res, view, { ...req.body, patient: who }, true);
      searches.privacy.consume(actorOf(res).id);
      const people = await findPeople(db, dependencies.families, who);
      const patients = people.map(({ patient }) => patient);
      await logAccess(res, {
        action: 'search',
        patients,
        filter: { report: report.view },
        rows: people.length,
      });
      if (patients.length === 1) return show(res, view, { ...entered, patient: patients[0] }, true);
      sendPage(res, titleOf(report), <PatientChoice {...{ report, entered, people }} />);
    });

    const download = async (req: Request, res: Response, format: FormatName, revealed: boolean) => {
      const found = await ask(res, req.params.view, revealed ? req.body : req.query, revealed);
      const faults = Object.values(found.faults);
      if (faults.length > 0) throw new BadInput(faults.join(' '));
      const comment = (await readComments(db)).get(found.report.view);
      const { aliases, currency } = res.locals.visit as Visit;
      const about = { comment, revealed, aliases, currency, timezone };
      const filterOf = { ...loggedOf(found), format, personal: revealed };
      await sendDownload(res, downloadPool, {
        query: queries.queryRows(found).compile(db),
        summary: queries.querySummary(found).compile(db),
        logAccess: (summary) => logAccess(res, { action: 'download', filter: filterOf, ...summary }),
        format,
        content: (rows) => describeFile(found, { ...about, rows }),
        name: fileNameOf(found, revealed),
        limits: downloads,
      });
    };
    for (const format of formatNames) {
      routes.get(`/reports/:view/${format}`, 'viewer', (req, res) => download(req, res, format, false));
      routes.post(`/reports/:view/${format}`, 'privacy', (req, res) => download(req, res, format, true));
    }
  },
};

/** What the access log keeps of a question: the id of a patient is among its patients. */
const loggedOf = ({ report, filter }: AskedForm) => ({
  report: report.view,
  ...filter,
  patient: filter.patient && 'one',
});
