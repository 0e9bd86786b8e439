import { Chart, type ChartFigures } from '../ui/chart.tsx';
import { Field, Hidden, PostButton, Submit } from '../ui/forms.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatAmount, formatCount, IdLink, Nothing, PersonalNote } from '../ui/values.tsx';
import type { ReportFilter } from './form.ts';
import { filtersOf, type ReportColumn } from './queries.ts';
import { type Report, reports } from './reports.ts';

export const shownRows = 200;

export function ReportList() {
  return (
    <>
      <p>
        These are the views of the schema <code>reporting</code>. SQL clients and BI tools can query them too.
      </p>
      <ul class="reports">
        {reports.map(({ view, title, about }) => (
          <li key={view}>
            <a href={`/console/reports/${view}`}>{title}</a>
            <p>{about}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

export interface ReportProps {
  report: Report;
  columns: readonly ReportColumn[];
  /** Those that are shown: without personal data, unless it is revealed. */
  shown: readonly ReportColumn[];
  filter: ReportFilter;
  rows: readonly Record<string, string | null>[];
  figures: ChartFigures | undefined;
  revealed: boolean;
}

export function ReportPage(props: ReportProps) {
  const { report, columns, shown, filter, rows, figures } = props;
  const { title, about, chart } = report;
  return (
    <>
      <p>{about}</p>
      <RangeForm report={report} columns={columns} filter={filter} />
      {figures && chart && (
        <Chart {...chart} {...figures} format={chart.amounts ? formatAmount : formatCount} />
      )}
      <Downloads {...props} />
      {rows.length > shownRows && (
        <p class="note">Only the first {shownRows} rows are shown; the download contains all.</p>
      )}
      <Table
        label={title}
        rows={rows.slice(0, shownRows)}
        empty="No matching rows."
        columns={shown.map(asColumn)}
      />
      <Legend columns={columns} />
    </>
  );
}

const numericTypes = new Set(['numeric', 'bigint', 'integer', 'double precision', 'interval']);

function asColumn({ name, type, comment }: ReportColumn): Column<Record<string, string | null>> {
  return {
    head: name.replaceAll('_', ' '),
    title: comment ?? undefined,
    numeric: numericTypes.has(type),
    cell: (row) => {
      const value = row[name];
      if (value === null || value === undefined || value === '') return <Nothing />;
      if (name === 'delivery_id' || name === 'example_delivery') {
        return <IdLink to="deliveries" id={value} />;
      }
      return type === 'numeric' || /amount/.test(name) ? formatNumber(value) : value;
    },
  };
}

const grouped = new Intl.NumberFormat('en-IN', { maximumFractionDigits: 20 });

/** Adds digit grouping to a number as PostgreSQL writes it. */
const formatNumber = (value: string) =>
  Number.isFinite(Number(value)) ? grouped.format(value as never) : value;

function RangeForm({ report, columns, filter }: Pick<ReportProps, 'report' | 'columns' | 'filter'>) {
  const { days, business, clinic } = filtersOf(columns);
  if (!days && !business && !clinic) return null;
  return (
    <form method="get" action={`/console/reports/${report.view}`} class="card">
      <div class="fields">
        {days && <Field label="From" name="from" type="date" value={filter.from} />}
        {days && <Field label="To" name="to" type="date" value={filter.to} />}
        {business && <Field label="Business" name="business" value={filter.business} />}
        {clinic && <Field label="Clinic" name="clinic" value={filter.clinic} />}
      </div>
      <div class="actions">
        <Submit>Show</Submit>
      </div>
    </form>
  );
}

function Downloads({ report, columns, filter, revealed }: ReportProps) {
  const address = `/console/reports/${report.view}`;
  const hasPersonal = columns.some(({ personal }) => personal);
  return (
    <>
      <div class="actions">
        <form method="get" action={`${address}/csv`}>
          <Hidden values={filter} />
          <Submit kind="second">Download CSV</Submit>
        </form>
        {hasPersonal && !revealed && (
          <PostButton action={`${address}/personal`} values={filter} kind="second">
            Show personal data
          </PostButton>
        )}
        {hasPersonal && (
          <PostButton action={`${address}/csv`} values={filter} kind="second">
            Download CSV with personal data
          </PostButton>
        )}
      </div>
      {hasPersonal && (
        <PersonalNote revealed={revealed} shownAt={`${address}/personal`}>
          Personal data is hidden: the columns with it are left out.
        </PersonalNote>
      )}
    </>
  );
}

function Legend({ columns }: { columns: readonly ReportColumn[] }) {
  const explained = columns.filter(({ comment }) => comment !== null);
  if (explained.length === 0) return null;
  return (
    <details>
      <summary>What the columns mean</summary>
      <Table
        label="What the columns mean"
        rows={explained}
        columns={[
          { head: 'Column', cell: ({ name }) => <code>{name}</code> },
          { head: 'Meaning', cell: ({ comment }) => comment, wide: true },
        ]}
      />
    </details>
  );
}
