import { words } from '../../common/words.ts';
import { hrefTo, useVisit } from '../ui/context.ts';
import { Filters, LinkList } from '../ui/filters.tsx';
import { Hidden } from '../ui/forms.tsx';
import { type Column, PageLinks, type Sorting, Table } from '../ui/table.tsx';
import { Amount, FieldValue, formatCount, formatCountOf } from '../ui/values.tsx';
import { type ReportGroup, reportGroups, titleOf } from './definitions.ts';
import { describeSelection, formatNames, formats } from './files.ts';
import { maxPages, type ReportRequest, reportHref } from './form.ts';
import { type AgeSum, maxCounted, pageRows, type ReportRow, type Totals } from './queries.ts';
import { daysOf, type RangeName, ranges, rangesToCome } from './ranges.ts';
import { isNumeric, labelOfColumn, layOut } from './report-columns.ts';

interface ReportProps extends ReportRequest {
  comment: string | undefined;
  rows: readonly ReportRow[];
  more: boolean;
  /** The totals of all matching rows. */
  totals: Totals;
  ages: readonly AgeSum[] | undefined;
}

export function ReportPage(props: ReportProps) {
  const { aliases } = useVisit();
  const selection = describeSelection(props, aliases).map(([label, text]) => `${label}: ${text}`);
  return (
    <>
      <p>{props.report.line}</p>
      <p class="printed">
        {selection.join(' · ')}
        {props.isWide && ' · Columns that do not fit the paper are in Excel.'}
      </p>
      <DownloadMenu {...props} />
      <ReportFilters {...props} />
      {props.ages && <Ages {...props} />}
      <p class="note">
        {describeRows(props)} <OthersLink {...props} /> <ColumnsLink {...props} />
      </p>
      <Rows {...props} />
      <Pages {...props} />
      <Legend {...props} />
    </>
  );
}

function DownloadMenu({ report, entered }: ReportRequest) {
  const address = reportHref(report.view);
  return (
    <form method="get" action={`${address}/${formatNames[0]}`} class="actions">
      <Hidden values={{ ...entered, page: undefined, columns: undefined }} />
      {formatNames.map((format) => (
        <button key={format} type="submit" class="small second" formaction={`${address}/${format}`}>
          {formats[format].label}
        </button>
      ))}
    </form>
  );
}

export function ReportFilters({ report, hasDays, entered, faults, fields, filter, range }: ReportRequest) {
  const names = (Object.keys(ranges) as RangeName[]).filter(
    (name) => report.hasDaysToCome || !rangesToCome.includes(name),
  );
  const links = names.map((name) => ({
    name: name === 'all' ? 'all days' : words(name),
    href: reportHref(report.view, { ...entered, from: '', to: '', page: '', range: name }),
    current: name === range,
  }));
  return (
    <Filters
      action={reportHref(report.view)}
      {...{ fields, entered, faults }}
      hidden={{ sort: entered.sort, range: entered.range, columns: entered.columns }}
      folded
    >
      {hasDays && (
        <LinkList label="Days" links={links}>
          {filter.from && filter.to && Object.keys(faults).length === 0 && (
            <span>{daysOf(filter.from, filter.to)}</span>
          )}
        </LinkList>
      )}
    </Filters>
  );
}

function describeRows({ report: { summed }, totals }: ReportProps): string {
  const limit = formatCount(maxCounted);
  return totals.rows > maxCounted
    ? `More than ${limit} rows. Columns can be sorted where there are at most ${limit}: choose a business or fewer days.`
    : `${formatCountOf(totals.rows, ['row', 'rows'])}.${
        totals.others > 0 ? ` ${formatCount(totals.others)} of them, ${summed?.others}, are in no total.` : ''
      }`;
}

function OthersLink({ report, entered, filter, totals }: ReportProps) {
  if (totals.others === 0 || filter.status) return null;
  return <a href={reportHref(report.view, { ...entered, page: '', status: 'failed' })}>Failed ones alone</a>;
}

function ColumnsLink({ report, columns, entered, isWide }: ReportProps) {
  if (layOut(report, columns, false).length === columns.length) return null;
  return (
    <a href={reportHref(report.view, { ...entered, columns: isWide ? undefined : 'all' })}>
      {isWide ? 'Fewer columns' : `All ${columns.length} columns`}
    </a>
  );
}

function Ages({ report, entered, ages }: ReportProps) {
  return (
    <>
      <Table
        label="Amount due by age"
        small
        rows={ages}
        columns={[
          {
            head: 'Age',
            cell: ({ age }) => (
              <a href={reportHref(report.view, { ...entered, page: '', age })}>{words(age)} days</a>
            ),
          },
          { head: 'Receipts', cell: ({ receipts }) => formatCount(receipts), numeric: true },
          { head: 'Due', cell: ({ due }) => <Amount value={due} />, numeric: true },
        ]}
      />
      <p>
        <a href={reportHref('outstanding_by_phone', { business: entered.business })}>Totals per phone</a>
      </p>
    </>
  );
}

function Rows({ report, columns, isWide, filter, entered, rows, totals }: ReportProps) {
  const { sort = '' } = filter;
  const sorting: Sorting = {
    by: sort.replace('-', ''),
    descending: sort.startsWith('-'),
    href: (by, descending) =>
      reportHref(report.view, { ...entered, page: '', sort: descending ? `-${by}` : by }),
  };
  const shown = layOut(report, columns, isWide).map((column): Column<ReportRow> => {
    const { name, comment } = column;
    return {
      head: labelOfColumn(report, name),
      title: comment ?? undefined,
      numeric: isNumeric(column),
      cell: (row) => <FieldValue column={column} row={row} />,
      sort: name,
      total: Object.hasOwn(totals.sums, name) ? <FieldValue column={column} row={totals.sums} /> : undefined,
    };
  });
  return (
    <Table
      label={titleOf(report)}
      rows={rows}
      empty="No matching rows."
      columns={shown}
      sorting={totals.rows <= maxCounted ? sorting : undefined}
    />
  );
}

function Pages({ report: { view }, entered, filter: { page = 1 }, more }: ReportProps) {
  const link = (to: number, name: string) => (
    <a href={reportHref(view, { ...entered, page: to === 1 ? undefined : `${to}` })}>{name}</a>
  );
  return (
    <>
      <PageLinks
        newer={page > 1 && link(page - 1, `← Previous ${pageRows} rows`)}
        older={more && page < maxPages && link(page + 1, `Next ${pageRows} rows →`)}
      />
      {more && page === maxPages && <p class="note">Pages end here; a download contains all rows.</p>}
    </>
  );
}

function Legend({ report, columns, comment, isWide }: ReportProps) {
  const explained = layOut(report, columns, isWide).filter(({ comment }) => comment !== null);
  if (explained.length === 0) return null;
  return (
    <details>
      <summary>What the columns mean</summary>
      <p>{comment}</p>
      <Table
        label="What the columns mean"
        rows={explained}
        columns={[
          { head: 'Column', cell: ({ name }) => labelOfColumn(report, name) },
          { head: 'In SQL and CSV', cell: ({ name }) => <code>{name}</code> },
          { head: 'Meaning', cell: ({ comment }) => comment, wide: true },
        ]}
      />
    </details>
  );
}

const mostUsed = [
  { name: 'Takings of yesterday', href: reportHref('receipts_daily', { range: 'yesterday' }) },
  { name: 'Who owes us, the oldest first', href: reportHref('outstanding_receipts') },
  { name: 'Appointments of tomorrow', href: reportHref('schedule', { range: 'tomorrow' }) },
  { name: 'Receipts of last month', href: reportHref('receipts', { range: 'last_month' }) },
];

export function ReportList({ group }: { group?: ReportGroup | undefined }) {
  const { roles } = useVisit();
  const { operations: _, ...clinic } = reportGroups;
  const groups = group ? [reportGroups[group]] : Object.values(clinic);
  return (
    <>
      {!group && <LinkList label="Most used" links={mostUsed} />}
      {groups.map(({ title, reports }) => (
        <section key={title}>
          <h2>{title}</h2>
          <ul class="reports">
            {reports.map((report) => (
              <li key={report.view}>
                <a href={reportHref(report.view)}>{titleOf(report)}</a>
                <p>{report.line}</p>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {!group && roles.includes('operator') && (
        <p>
          <a href={hrefTo('/reports', { group: 'operations' })}>Reports about the receiver itself</a>
        </p>
      )}
    </>
  );
}
