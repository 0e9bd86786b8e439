import type { Request, Response } from 'express';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../receiver/store/tables.ts';
import { BadInput, hasRole, type Page, PageNotFound, TooManyDownloads } from '../page.ts';
import { oneOf, readForm } from '../read-form.ts';
import { sendDownload } from '../reports/download.ts';
import { describeFile, fileNameOf } from '../reports/files/file-content.ts';
import { type FormatName, formatNames } from '../reports/files/formats.ts';
import { type AskedForm, readReportForm } from '../reports/form.ts';
import { reports as known, type ReportGroup, reportGroups } from '../reports/lists.ts';
import {
  askReport,
  pageRows,
  queryRows,
  type ReportRow,
  type RowsSummary,
  readPage,
} from '../reports/queries.ts';
import { readBusinesses, takePage } from '../reports/read.ts';
import { titleOf } from '../reports/report.ts';
import { ReportFilters } from '../reports/report-filters.tsx';
import { ReportList } from '../reports/report-list.tsx';
import { ReportPage } from '../reports/report-page.tsx';
import { readAges, readTotals } from '../reports/totals.ts';
import { readColumns, readComments } from '../reports/view-columns.ts';
import { visitOf } from '../ui/context.ts';
import { sendPage } from '../ui/send-page.tsx';

const group = oneOf(Object.keys(reportGroups) as ReportGroup[]);
/** Each has one of the few connections for minutes. */
const maxDownloads = 2;

/** Reports and their downloads. Who may see personal data sees it, each time after an entry of the access log. */
export const reports: Page = (routes, { config, pool, db, read, logAccess }) => {
  const { reportTimezone: timezone, downloads: limits } = config;

  routes.get('/reports', 'viewer', (req, res) => {
    const { data } = readForm(req.query, { group });
    const title = data.group ? `Reports: ${reportGroups[data.group].title}` : 'Reports';
    sendPage(res, title, <ReportList {...data} />);
  });

  const ask = async (tx: Db, req: Request, res: Response) => {
    const report = known.find(({ view }) => view === req.params.view);
    if (!report) throw new PageNotFound('There is no such report.');
    const all = await readColumns(tx, report);
    const columns = all.filter(({ personal }) => !personal || hasRole(res, 'desk'));
    const businesses = await readBusinesses(tx);
    const { aliases } = visitOf(res);
    const form = readReportForm(req.query, { report, columns, timezone, aliases });
    const asked = askReport({ report, columns, filter: form.filter, businesses });
    const hidden = all.length - columns.length;
    return { asked: { ...form, ...asked }, hidden, isPersonal: columns.some(({ personal }) => personal) };
  };

  routes.get('/reports/:view', 'viewer', async (req, res) => {
    const { asked, hidden, isPersonal, found } = await read(async (tx) => {
      const asking = await ask(tx, req, res);
      const { asked } = asking;
      if (Object.keys(asked.faults).length > 0) return { ...asking, found: undefined };
      const { rows, more } = takePage(await readPage(tx, asked, asked.filter.page ?? 1), pageRows);
      const totals = await readTotals(tx, asked);
      const ages = asked.filters.age && !asked.filter.receipt ? await readAges(tx, asked) : undefined;
      const comment = (await readComments(tx)).get(asked.report.view);
      const { patients } = await summarize(tx, asked, rows);
      return { ...asking, found: { rows, more, totals, ...(ages && { ages }), comment, patients } };
    });
    const title = titleOf(asked.report);
    if (!found) return sendPage(res, title, <ReportFilters {...asked} />, { status: 400 });
    const { patients: subjects, ...page } = found;
    const { length: rows } = page.rows;
    if (isPersonal) await logAccess(res, { action: 'reveal', subjects, ...loggedOf(asked, rows), rows });
    const content = (
      <>
        {hidden > 0 && <p class="note">Names and phones are hidden: they take the role desk.</p>}
        <ReportPage {...asked} {...page} />
      </>
    );
    sendPage(res, title, content);
  });

  let running = 0;
  const download = async (req: Request, res: Response, format: FormatName) => {
    const { asked, isPersonal, comment } = await read(async (tx) => {
      const asking = await ask(tx, req, res);
      return { ...asking, comment: (await readComments(tx)).get(asking.asked.report.view) };
    });
    const faults = Object.values(asked.faults);
    if (faults.length > 0) throw new BadInput(faults.join(' '));
    const { aliases } = visitOf(res);
    const about = { comment, revealed: isPersonal, aliases, timezone };
    const given = { format, personal: isPersonal };
    if (running >= maxDownloads)
      throw new TooManyDownloads('The maximum number of downloads is running. Try again later.');
    running += 1;
    try {
      await sendDownload(res, pool, {
        query: queryRows(asked).compile(db),
        summary: summaryOf(asked, asked.matching, limits.maxRows).compile(db),
        logAccess: ({ rows, patients }) =>
          logAccess(res, { action: 'download', ...loggedOf(asked, rows, given), rows, subjects: patients }),
        format,
        content: (rows) => describeFile(asked, { ...about, rows }),
        name: fileNameOf(asked, isPersonal),
        limits,
        settings: `set local timezone = '${timezone}'; set local statement_timeout = ${limits.totalMs}; set local idle_in_transaction_session_timeout = 0`,
      });
    } finally {
      running -= 1;
    }
  };
  for (const format of formatNames)
    routes.get(`/reports/:view/${format}`, 'viewer', (req, res) => download(req, res, format));
};

/** What the access log has of a selection. An id that selects no row may be anything that somebody typed. */
function loggedOf({ report, filter }: AskedForm, rows: number, given = {}) {
  const { business, clinic, doctor, receipt, ...others } = filter;
  const ids = rows > 0 ? { business, clinic, doctor, receipt } : {};
  return { filter: { report: report.view, ...given, ...others }, ids };
}

/** The patients of rows that are shown: their subjects. */
async function summarize(db: Db, asked: AskedForm, rows: readonly ReportRow[]): Promise<RowsSummary> {
  const names = sql.join(asked.columns.map(({ name }) => sql`${sql.ref(name)} text`));
  const source = sql`from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as shown(${names}) where true`;
  return (await summaryOf(asked, source).execute(db)).rows[0]!;
}

/**
 * The query for the number of rows and the subjects of their patients, unless there are too many for a download.
 *
 * @param source the part of a query that begins with `from`, up to its conditions
 */
function summaryOf({ columns }: AskedForm, source: RawBuilder<unknown>, maxRows = pageRows) {
  const plain = (column: string) => sql`lower(replace(trim(${sql.ref(column)}), '-', ''))`;
  const subjects: Record<string, RawBuilder<unknown>> = {
    patient_id: sql`'p:platform:' || trim(patient_id)`,
    // A page may have the beginning of a long one.
    patient_ids: sql`'p:platform:' || jsonb_array_elements_text(
      case when right(patient_ids::text, 1) = ']' then patient_ids::text else '[]' end::jsonb)`,
    partner_patient_id: sql`'p:partner:' || business_id || ':' || trim(partner_patient_id)`,
    abha_address: sql`'p:abha:' || ${plain('abha_address')}`,
    abha_number: sql`'p:abha:' || ${plain('abha_number')}`,
    delivery_id: sql`unnest(array(
      select s from receiver.inbox, unnest(subjects) s where id = delivery_id::uuid and s like 'p:%'))`,
  };
  const queries = columns.flatMap(({ name }) =>
    subjects[name] ? [sql`select ${subjects[name]} as s ${source}`] : [],
  );
  const all = queries.length > 0 ? sql.join(queries, sql` union `) : sql`select null as s`;
  return sql<RowsSummary>`
    select count(*)::int as rows, case when count(*) <= ${maxRows} then
      array(select s from (${all}) as named where s is not null) end as patients ${source}`;
}
