import { useContext } from 'preact/hooks';
import { Chart, type ChartFigures } from '../ui/chart.tsx';
import { VisitContext } from '../ui/context.ts';
import { FieldValue, formatAmountText, isNumeric } from '../ui/field-value.tsx';
import { Filters } from '../ui/filters.tsx';
import { type FormField, Hidden, PostButton, Submit } from '../ui/forms.tsx';
import { SaveView } from '../ui/save-view.tsx';
import { type Column, PageLinks, type Sorting, Table } from '../ui/table.tsx';
import { formatDay } from '../ui/time.ts';
import { formatAmount, formatCount, PersonalNote } from '../ui/values.tsx';
import { ages, mostPages, pageRows, type ReportForm, reportHref } from './form.ts';
import { formatNames, formats } from './formats.ts';
import { type AgeTotal, filtersOf, type ReportColumn, type ReportRow, type Totals } from './queries.ts';
import { ranges } from './ranges.ts';
import { type Report, reports, shortcuts } from './reports.ts';
import type { SavedView } from './saved-views.ts';

/** The pages that the user has saved, pages for what is often asked, and all reports. */
export function ReportList({ saved }: { saved: readonly SavedView[] }) {
  return (
    <>
      <Table
        label="Saved pages"
        rows={saved}
        columns={[
          {
            head: 'Saved page',
            cell: ({ name, address }) => <a href={`/console${address}`}>{name}</a>,
            wide: true,
          },
          {
            head: <span class="unseen">Action</span>,
            cell: ({ name }) => (
              <PostButton action="/console/saved-views/delete" values={{ name }} kind="small second">
                Delete<span class="unseen"> {name}</span>
              </PostButton>
            ),
          },
        ]}
      />
      <nav class="actions" aria-label="Often asked">
        {shortcuts.map(({ title, query }) => (
          <a key={query} href={`/console/reports/${query}`}>
            {title}
          </a>
        ))}
      </nav>
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

/** Figures of all matching rows; those are absent whose query timed out, and those that the report does not have. */
export interface Sums {
  totals?: Totals;
  figures?: ChartFigures & { unit: string | undefined };
  ages?: readonly AgeTotal[];
}

export interface ReportProps extends ReportForm, Sums {
  report: Report;
  columns: readonly ReportColumn[];
  /** Those that are shown: without personal data, unless it is revealed. */
  shown: readonly ReportColumn[];
  rows: readonly ReportRow[];
  /** Whether there are rows on a next page. */
  more: boolean;
  revealed: boolean;
}

export function ReportPage(props: ReportProps) {
  const { report, columns, entered, totals, figures, revealed } = props;
  const { view, about, chart } = report;
  const { aliases } = useContext(VisitContext);
  const known = chart?.ids && aliases?.[chart.ids];
  return (
    <>
      <p>{about}</p>
      <ReportFilters {...props} />
      {props.ages && <Ages {...props} ages={props.ages} />}
      {figures && chart && (
        <Chart
          {...chart}
          {...figures}
          labels={figures.labels.map((label) => known?.get(label) ?? label)}
          title={chart.title.replace(/\bday\b/, figures.unit ?? 'day')}
          format={chart.amounts ? formatAmount : formatCount}
        />
      )}
      <Downloads {...props} />
      <p class="note">
        {totals
          ? `${formatCount(totals.rows)} rows.`
          : 'Counting the rows timed out, so there are no totals.'}
      </p>
      <Rows {...props} />
      <Pages {...props} />
      {!revealed && <SaveView address={reportHref(view, entered)} />}
      <Legend columns={columns} />
    </>
  );
}

function ReportFilters({ report, columns, entered, filter, range }: ReportProps) {
  const has = filtersOf(columns);
  const action = `/console/reports/${report.view}`;
  const fields: (FormField | false)[] = [
    has.day !== undefined && { name: 'from', label: 'From', kind: 'date' },
    has.day !== undefined && { name: 'to', label: 'To', kind: 'date' },
    report.rowsOf !== undefined && { name: 'at', label: 'As of', kind: 'datetime-local' },
    has.business !== undefined && { name: 'business', label: 'Business', kind: 'business' },
    has.clinic !== undefined && { name: 'clinic', label: 'Clinic', kind: 'clinic' },
    has.doctor !== undefined && { name: 'doctor', label: 'Doctor', kind: 'doctor' },
    has.receipt !== undefined && { name: 'receipt', label: 'Receipt id' },
    has.age !== undefined && {
      name: 'age',
      label: 'Age in days',
      kind: 'choice',
      options: Object.keys(ages),
    },
  ];
  return (
    <>
      {has.day && (
        <nav class="actions" aria-label="Days">
          {Object.keys(ranges).map((name) => (
            <a
              key={name}
              href={reportHref(report.view, { ...entered, from: '', to: '', page: '', range: name })}
              aria-current={name === range ? 'true' : undefined}
            >
              {name === 'all' ? 'all days' : name.replaceAll('_', ' ')}
            </a>
          ))}
          {filter.from && filter.to && (
            <span>
              {formatDay(filter.from)}
              {filter.to !== filter.from && ` to ${formatDay(filter.to)}`}
            </span>
          )}
        </nav>
      )}
      <Filters
        action={action}
        fields={fields.filter((field) => field !== false)}
        entered={entered}
        hidden={{ sort: entered.sort, range: entered.range }}
      />
    </>
  );
}

/** How much is due since when. */
function Ages({ report, entered, ages: found }: ReportProps & { ages: readonly AgeTotal[] }) {
  const nameOf = (age: string) => `${age.replaceAll('_', ' ')} days`;
  return (
    <>
      <Chart
        title="Amount due by age, in rupees"
        labels={found.map(({ age }) => nameOf(age))}
        series={[{ name: 'due', values: found.map(({ due }) => due) }]}
        format={formatAmount}
      />
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
          { head: 'Due', cell: ({ due }) => formatAmountText(due), numeric: true },
        ]}
      />
      <p>
        <a href={reportHref('outstanding_by_phone', { business: entered.business })}>Totals per phone</a>
      </p>
    </>
  );
}

function Rows({ report, shown, filter, entered, rows, totals, revealed }: ReportProps) {
  const { sort = '' } = filter;
  const sorting: Sorting = {
    by: sort.replace('-', ''),
    descending: sort.startsWith('-'),
    href: (by, descending) =>
      reportHref(report.view, { ...entered, page: '', sort: descending ? `-${by}` : by }),
  };
  const columns = shown.map((column): Column<ReportRow> => {
    const { name, comment } = column;
    const hasTotal = totals && Object.hasOwn(totals.sums, name);
    return {
      head: name.replaceAll('_', ' '),
      title: comment ?? undefined,
      numeric: isNumeric(column),
      cell: (row) => <FieldValue column={column} row={row} />,
      sort: name,
      total: hasTotal ? <FieldValue column={column} row={totals.sums} /> : undefined,
    };
  });
  return (
    <Table
      label={report.title}
      rows={rows}
      empty="No matching rows."
      columns={columns}
      // The links would lead to the page without personal data.
      sorting={revealed ? undefined : sorting}
    />
  );
}

/** Each page of personal data is shown by a form of its own, and logged. */
function Pages({ report, entered, filter: { page = 1 }, more, revealed }: ReportProps) {
  const names: [string, string] = [`Previous ${pageRows} rows`, `Next ${pageRows} rows`];
  const places = [page > 1 ? page - 1 : undefined, more && page < mostPages ? page + 1 : undefined];
  const fieldsOf = (place: number) => ({ ...entered, page: place === 1 ? undefined : `${place}` });
  const [newer, older] = places.map((place) =>
    place ? reportHref(report.view, fieldsOf(place)) : undefined,
  );
  return (
    <>
      {revealed ? (
        <div class="actions">
          {places.map(
            (place, index) =>
              place && (
                <PostButton
                  key={index}
                  action={`/console/reports/${report.view}/personal`}
                  values={fieldsOf(place)}
                  kind="second"
                >
                  {names[index]}
                </PostButton>
              ),
          )}
        </div>
      ) : (
        <PageLinks newer={newer} older={older} names={names} />
      )}
      {more && page === mostPages && <p class="note">Pages end here; a download contains all rows.</p>}
    </>
  );
}

function Downloads({ report, columns, entered, revealed }: ReportProps) {
  const address = `/console/reports/${report.view}`;
  const { page, ...values } = entered;
  const hasPersonal = columns.some(({ personal }) => personal);
  return (
    <>
      <div class="actions">
        {formatNames.map((format) => (
          <form key={format} method="get" action={`${address}/${format}`}>
            <Hidden values={values} />
            <Submit kind="second">Download {formats[format].label}</Submit>
          </form>
        ))}
        {hasPersonal && !revealed && (
          <PostButton action={`${address}/personal`} values={entered} kind="second">
            Show personal data
          </PostButton>
        )}
      </div>
      {hasPersonal && (
        <>
          <div class="actions">
            {formatNames.map((format) => (
              <PostButton key={format} action={`${address}/${format}`} values={values} kind="second">
                Download {formats[format].label} with personal data
              </PostButton>
            ))}
          </div>
          <PersonalNote
            revealed={revealed}
            shownAt={`${address}/personal`}
            hiddenAt={reportHref(report.view, entered)}
          >
            Personal data is hidden: the columns with it are left out.
          </PersonalNote>
        </>
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
