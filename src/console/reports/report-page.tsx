import { words } from '../../common/words.ts';
import { type Column, PageLinks, type Sorting, Table } from '../ui/table.tsx';
import { Amount, FieldValue, formatCount, formatCountOf } from '../ui/values.tsx';
import { isNumeric } from './column-kinds.ts';
import { labelOfColumn } from './column-labels.ts';
import { DownloadMenu } from './download-menu.tsx';
import { type AskedForm, mostPages, reportHref } from './form.ts';
import { layOut } from './layout.ts';
import { pageRows, type ReportRow } from './queries.ts';
import { titleOf } from './report.ts';
import { ReportFilters } from './report-filters.tsx';
import { countedRows, type readAges, type Totals } from './totals.ts';

/** Figures of all matching rows; those are absent that the report does not have. */
interface Sums {
  totals: Totals;
  ages?: Awaited<ReturnType<typeof readAges>>;
}

interface ReportProps extends AskedForm, Sums {
  comment: string | undefined;
  rows: readonly ReportRow[];
  /** Whether there are rows on a next page. */
  more: boolean;
}

export function ReportPage(props: ReportProps) {
  return (
    <>
      <p>{props.report.line}</p>
      <DownloadMenu {...props} />
      <ReportFilters {...props} />
      {props.ages && <Ages {...props} ages={props.ages} />}
      <p class="note">
        {describeRows(props)} <ColumnsLink {...props} />
      </p>
      <Rows {...props} />
      <Pages {...props} />
      <Legend {...props} />
    </>
  );
}

function describeRows({ totals }: ReportProps): string {
  const limit = formatCount(countedRows);
  return totals.rows > countedRows
    ? `More than ${limit} rows. Columns can be sorted where there are at most ${limit}: choose a business or fewer days.`
    : `${formatCountOf(totals.rows, ['row', 'rows'])}.`;
}

/** Leads to the same rows with all columns, or with those that are read first. */
function ColumnsLink({ report, columns, entered, isWide }: ReportProps) {
  const hidden = columns.length - layOut(report, columns, false).length;
  if (hidden === 0) return null;
  const wanted = isWide ? undefined : 'all';
  return (
    <a href={reportHref(report.view, { ...entered, columns: wanted })}>
      {isWide ? 'Fewer columns' : `All ${columns.length} columns`}
    </a>
  );
}

function Ages({ report, entered, ages: found }: ReportProps & Required<Pick<Sums, 'ages'>>) {
  const nameOf = (age: string) => `${words(age)} days`;
  return (
    <>
      <Table
        label="Amount due by age"
        small
        rows={found}
        columns={[
          {
            head: 'Age',
            cell: ({ age }) => (
              <a href={reportHref(report.view, { ...entered, page: '', age })}>{nameOf(age)}</a>
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

function Rows(props: ReportProps) {
  const { report, filter, entered, rows, totals } = props;
  const { sort = '' } = filter;
  const sorting: Sorting = {
    by: sort.replace('-', ''),
    descending: sort.startsWith('-'),
    href: (by, descending) =>
      reportHref(report.view, { ...entered, page: '', sort: descending ? `-${by}` : by }),
  };
  const columns = layOut(report, props.columns, props.isWide).map((column): Column<ReportRow> => {
    const { name, comment } = column;
    const hasTotal = Object.hasOwn(totals.sums, name);
    return {
      head: labelOfColumn(report, name),
      title: comment ?? undefined,
      numeric: isNumeric(column),
      cell: (row) => <FieldValue column={column} row={row} />,
      sort: name,
      total: hasTotal ? <FieldValue column={column} row={totals.sums} /> : undefined,
    };
  });
  return (
    <Table
      label={titleOf(report)}
      rows={rows}
      empty="No matching rows."
      columns={columns}
      sorting={totals.rows <= countedRows ? sorting : undefined}
    />
  );
}

function Pages({ report: { view }, entered, filter, more }: ReportProps) {
  const { page = 1 } = filter;
  const [newer, older] = [
    page > 1 && { ...entered, page: page === 2 ? undefined : `${page - 1}` },
    more && page < mostPages && { ...entered, page: `${page + 1}` },
  ];
  const link = (values: typeof newer, name: string) =>
    values && <a href={reportHref(view, values)}>{name}</a>;
  return (
    <>
      <PageLinks
        newer={link(newer, `← Previous ${pageRows} rows`)}
        older={link(older, `Next ${pageRows} rows →`)}
      />
      {more && page === mostPages && <p class="note">Pages end here; a download contains all rows.</p>}
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
