import { isNumeric } from '../../reports/column-kinds.ts';
import { labelOfColumn } from '../../reports/labels.ts';
import { layOut } from '../../reports/layout.ts';
import { pageRows, type ReportRow } from '../../reports/queries.ts';
import { titleOf } from '../../reports/report.ts';
import { countedRows, isSortable, type readAges, type Totals } from '../../reports/totals.ts';
import { FieldValue } from '../ui/field-value.tsx';
import { PostButton } from '../ui/forms.tsx';
import { words } from '../ui/links.ts';
import { PersonalNote, ShowPersonal } from '../ui/personal.tsx';
import { type Column, PageLinks, type Sorting, Table } from '../ui/table.tsx';
import { Amount, formatCount, formatCountOf } from '../ui/values.tsx';
import { DownloadMenu } from './download-menu.tsx';
import { type AskedForm, mostPages, reportHref } from './form.ts';
import { ReportFilters } from './report-filters.tsx';

/** Figures of all matching rows; those are absent whose query timed out, and those that the report does not have. */
export interface Sums {
  totals?: Totals;
  ages?: Awaited<ReturnType<typeof readAges>>;
}

interface ReportProps extends AskedForm, Sums {
  comment: string | undefined;
  /** Undefined: the query timed out. */
  rows: readonly ReportRow[] | undefined;
  /** Whether there are rows on a next page. */
  more: boolean;
  revealed: boolean;
}

export function ReportPage(props: ReportProps) {
  return (
    <>
      <p>{props.report.line}</p>
      <Downloads {...props} />
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

function describeRows(props: ReportProps): string | undefined {
  const { totals } = props;
  if (!totals) return 'Counting the rows timed out, so there are no totals.';
  const limit = formatCount(countedRows);
  return totals.rows > countedRows
    ? `More than ${limit} rows. Columns can be sorted where there are at most ${limit}: choose a business or fewer days.`
    : `${formatCountOf(totals.rows, ['row', 'rows'])}.`;
}

/** Leads to the same rows with all columns, or with those that are read first. */
function ColumnsLink({ report, shown, entered, isWide, revealed }: ReportProps) {
  const hidden = shown.length - layOut(report, shown, false).length;
  // The link would lead to the page without personal data.
  if (hidden === 0 || revealed) return null;
  const columns = isWide ? undefined : 'all';
  return (
    <a href={reportHref(report.view, { ...entered, columns })}>
      {isWide ? 'Fewer columns' : `All ${shown.length} columns`}
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
  const { report, filter, entered, rows, totals, revealed } = props;
  if (!rows) {
    return (
      <p class="warning" role="status">
        The query timed out, so no rows are shown. Choose a business or fewer days; a download may take
        longer.
      </p>
    );
  }
  const { sort = '' } = filter;
  const sorting: Sorting = {
    by: sort.replace('-', ''),
    descending: sort.startsWith('-'),
    href: (by, descending) =>
      reportHref(report.view, { ...entered, page: '', sort: descending ? `-${by}` : by }),
  };
  const columns = layOut(report, props.shown, props.isWide).map((column): Column<ReportRow> => {
    const { name, comment } = column;
    const hasTotal = totals && Object.hasOwn(totals.sums, name);
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
      // The links would lead to the page without personal data.
      sorting={revealed || !isSortable(props, totals) ? undefined : sorting}
    />
  );
}

/** Each page of personal data is shown by a form of its own, and logged. */
function Pages({ report: { view }, entered, filter, more, revealed }: ReportProps) {
  const { page = 1, patient } = filter;
  const [newer, older] = [
    page > 1 && { ...entered, page: page === 2 ? undefined : `${page - 1}` },
    more && page < mostPages && { ...entered, page: `${page + 1}` },
  ];
  const action = `${reportHref(view)}/personal`;
  const link = (values: typeof newer, name: string) =>
    values &&
    (revealed ? (
      <PostButton action={action} values={{ ...values, patient }} kind="second">
        {name}
      </PostButton>
    ) : (
      <a href={reportHref(view, values)}>{name}</a>
    ));
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

function Downloads(props: ReportProps) {
  const { report, columns, entered, revealed } = props;
  const address = reportHref(report.view);
  const hasPersonal = columns.some((column) => column.personal);
  return (
    <>
      <div class="actions">
        <DownloadMenu {...props} />
        {hasPersonal && <ShowPersonal {...{ revealed, address }} values={entered} />}
      </div>
      {hasPersonal && (
        <PersonalNote {...{ revealed, address }} hiddenAt={reportHref(report.view, entered)}>
          Personal data is hidden: the columns with it are left out.
        </PersonalNote>
      )}
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
