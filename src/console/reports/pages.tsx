import { Chart } from '../ui/chart.tsx';
import { Field, Hidden, PostForm, Submit } from '../ui/forms.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatAmount, formatCount, Nothing } from '../ui/values.tsx';
import type { ChartFigures, ReportColumn, ReportFilter } from './query.ts';
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
  filter: ReportFilter;
  rows: readonly Record<string, string | null>[];
  figures: ChartFigures | undefined;
  /** Whether columns with personal data are shown. */
  revealed: boolean;
}

export function ReportPage(props: ReportProps) {
  const { report, columns, filter, rows, figures, revealed } = props;
  const shown = rows.slice(0, shownRows);
  return (
    <>
      <p>{report.about}</p>
      <RangeForm report={report} filter={filter} />
      {figures && report.chart && (
        <Chart
          title={report.chart.title}
          kind={report.chart.kind}
          stacked={report.chart.stacked ?? false}
          {...figures}
          format={report.chart.amounts ? formatAmount : formatCount}
        />
      )}
      <Downloads {...props} />
      {rows.length > shownRows && (
        <p class="note">Only the first {shownRows} rows are shown; the download contains all.</p>
      )}
      <Table
        label={report.title}
        rows={shown}
        empty="No matching rows."
        columns={columns.filter(({ personal }) => revealed || !personal).map(asColumn)}
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
        return (
          <a class="id" href={`/console/deliveries/${value}`}>
            {value}
          </a>
        );
      }
      return type === 'numeric' || /amount/.test(name) ? formatNumber(value) : value;
    },
  };
}

const grouped = new Intl.NumberFormat('en-IN', { maximumFractionDigits: 20 });

/** Adds digit grouping to a number as PostgreSQL writes it. */
const formatNumber = (value: string) =>
  Number.isFinite(Number(value)) ? grouped.format(value as never) : value;

function RangeForm({ report, filter }: { report: Report; filter: ReportFilter }) {
  const { dated, business, clinic } = report;
  if (!dated && !business && !clinic) return null;
  return (
    <form method="get" action={`/console/reports/${report.view}`} class="card">
      <div class="fields">
        {dated && <Field label="From" name="from" type="date" value={filter.from} />}
        {dated && <Field label="To" name="to" type="date" value={filter.to} />}
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
  const values = { ...filter };
  const hasPersonal = columns.some(({ personal }) => personal);
  return (
    <>
      <div class="actions">
        <form method="get" action={`${address}/csv`}>
          <Hidden values={values} />
          <Submit kind="second">Download CSV</Submit>
        </form>
        {hasPersonal && !revealed && (
          <PostForm action={`${address}/personal`} values={values}>
            <Submit kind="second">Show personal data</Submit>
          </PostForm>
        )}
        {hasPersonal && (
          <PostForm action={`${address}/csv`} values={values}>
            <Submit kind="second">Download CSV with personal data</Submit>
          </PostForm>
        )}
      </div>
      {hasPersonal && (
        <p class="note">
          {revealed
            ? 'This page shows personal data; showing it was logged.'
            : 'Columns with personal data are hidden. Showing or downloading them is logged.'}
        </p>
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
        empty=""
        columns={[
          { head: 'Column', cell: ({ name }) => <code>{name}</code> },
          { head: 'Meaning', cell: ({ comment }) => comment, wide: true },
        ]}
      />
    </details>
  );
}
