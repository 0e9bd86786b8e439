import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { isAmount } from '../../reports/column-kinds.ts';
import { type Group, type Grouping, type Groups, mostGroups } from '../../reports/groups.ts';
import { addDays, endOf } from '../../reports/periods.ts';
import type { Asked } from '../../reports/queries.ts';
import { titleOf } from '../../reports/report.ts';
import { countedRows } from '../../reports/totals.ts';
import { isAliasKind } from '../../store/aliases.ts';
import { Chart } from '../ui/chart.tsx';
import { VisitContext } from '../ui/context.ts';
import { FieldValue, headOf } from '../ui/field-value.tsx';
import { LinkList } from '../ui/filters.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatDay } from '../ui/time.ts';
import { formatCount, Nothing } from '../ui/values.tsx';
import { type ReportForm, reportHref } from './form.ts';
import { ReportFilters } from './report-filters.tsx';

type Props = Asked & ReportForm & { groups: Groups };

/** A report's rows, summed by group, and compared with those of an earlier period. */
export function GroupsPage(props: Omit<Props, 'groups'> & { groups: Groups | undefined }) {
  const { report, groups } = props;
  return (
    <>
      <p>{report.line}</p>
      <ReportFilters {...props} />
      {groups ? (
        <GroupTable {...props} groups={groups} />
      ) : (
        <p class="warning" role="status">
          The query timed out. Choose a business or fewer days.
        </p>
      )}
    </>
  );
}

function GroupTable(props: Props) {
  const { report, entered, filter, groups: found } = props;
  const { group, earlier, sort } = props.grouped;
  const { measures, groups, count, total, isCut } = found;
  const descending = sort?.startsWith('-') ?? false;
  const of = { ...props, measure: found.of };
  const sums = (names: readonly string[]): Column<Group>[] =>
    names.map((name) => ({
      head: headOfMeasure(props, name),
      numeric: true,
      sort: name,
      cell: ({ now }) => <Measure {...props} name={name} value={now[name]} />,
      total: <Measure {...props} name={name} value={total.now[name]} />,
    }));
  return (
    <>
      {isCut && <CutNote {...props} />}
      {earlier && measures.length > 1 && (
        <LinkList
          label="Compared"
          links={measures.map((name) => ({
            name: headOfMeasure(props, name),
            href: reportHref(report.view, { ...entered, of: name }),
            current: name === found.of,
          }))}
        />
      )}
      <GroupChart {...of} />
      <p class="note">
        {count > mostGroups ? `The first ${formatCount(mostGroups)} of ${formatCount(count)} groups. ` : ''}
        <a href={reportHref(report.view, { ...entered, group: '', compare: '', sort: '' })}>Show the rows</a>
      </p>
      <Table
        label={`${titleOf(report)} by ${group}`}
        rows={groups}
        empty="No matching rows."
        columns={[
          { head: headOf(group!), cell: (one) => <GroupLabel {...props} label={one.label} />, sort: 'label' },
          ...(earlier ? comparedColumns(of, filter, earlier) : sums(measures)),
        ]}
        sorting={{
          by: sort?.replace('-', '') ?? '',
          descending,
          href: (by, down) => reportHref(report.view, { ...entered, sort: down ? `-${by}` : by }),
        }}
      />
    </>
  );
}

const CutNote = ({ report }: Pick<Props, 'report'>) => (
  <p class="warning" role="status">
    There are more than {formatCount(countedRows(report))} rows, and these sums are of a part of them. Choose
    a business or fewer days.
  </p>
);

type Period = { from?: string | undefined; to?: string | undefined };
const daysOf = ({ from = '', to = '' }: Period) =>
  from === to ? formatDay(from) : `${formatDay(from)} to ${formatDay(to)}`;

/** One measure of both periods, and its change. */
function comparedColumns(
  props: Props & { measure: string },
  period: Period,
  earlier: Period,
): Column<Group>[] {
  const { measure, groups } = props;
  const amount = (value: string | null | undefined) => <Measure {...props} name={measure} value={value} />;
  const column = (head: string, sort: string, cell: (one: Group) => ComponentChildren): Column<Group> => ({
    head,
    sort,
    numeric: true,
    cell,
    total: cell(groups.total),
  });
  return [
    column(daysOf(period), measure, ({ now }) => amount(now[measure])),
    column(daysOf(earlier), 'before', ({ before }) => amount(before[measure])),
    column('Change', 'change', ({ change }) => <Change value={change}>{amount(change)}</Change>),
    column('Change in %', 'change_share', ({ change_share: share, change }) =>
      share === null ? (
        Number(change) === 0 ? (
          <Nothing />
        ) : (
          'new'
        )
      ) : (
        <Change value={share}>{percent.format(Number(share))}</Change>
      ),
    ),
  ];
}

const percent = new Intl.NumberFormat('en-IN', {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});

/** A rise or a fall: by its sign too, and not by colour alone. */
const Change = ({ value, children }: { value: string; children: ComponentChildren }) => (
  <span class={Number(value) < 0 ? 'bad' : Number(value) > 0 ? 'good' : undefined}>{children}</span>
);

/** The same of all rows, for each measure. */
export function Compared(props: Props) {
  const { groups, filter, grouped } = props;
  const { total, measures, isCut } = groups;
  const before = (name: string) => Number(total.before[name]);
  const change = (name: string) => String(Number(total.now[name]) - before(name));
  return (
    <>
      {isCut && <CutNote {...props} />}
      <Table
        label="Compared with the earlier period"
        rows={measures}
        columns={[
          { head: 'Sum', cell: (name) => headOfMeasure(props, name), rowHead: true },
          {
            head: daysOf(filter),
            numeric: true,
            cell: (name) => <Measure {...props} name={name} value={total.now[name]} />,
          },
          {
            head: daysOf(grouped.earlier!),
            numeric: true,
            cell: (name) => <Measure {...props} name={name} value={total.before[name]} />,
          },
          {
            head: 'Change',
            numeric: true,
            cell: (name) => (
              <Change value={change(name)}>
                <Measure {...props} name={name} value={change(name)} />
              </Change>
            ),
          },
          {
            head: 'Change in %',
            numeric: true,
            cell: (name) =>
              before(name) === 0 ? (
                <Nothing />
              ) : (
                <Change value={change(name)}>
                  {percent.format(Number(change(name)) / Math.abs(before(name)))}
                </Change>
              ),
          },
        ]}
      />
    </>
  );
}

const mostBars = 31;

function GroupChart(props: Props & { measure: string }) {
  const { shown, groups, grouped, measure } = props;
  const nameOf = useNames(grouped.group);
  const drawn = groups.groups.slice(0, isAliasKind(grouped.group) ? 12 : mostBars);
  const valuesOf = (period: 'now' | 'before') => drawn.map((one) => one[period][measure] ?? null);
  const name = headOfMeasure(props, measure);
  return (
    <Chart
      title={`${name} by ${grouped.group}`}
      kind={isAliasKind(grouped.group) ? 'names' : 'bar'}
      amounts={shown.some((column) => column.name === measure && isAmount(column))}
      labels={drawn.map(({ label }) => nameOf(label))}
      series={[
        { name, values: valuesOf('now') },
        ...(grouped.earlier ? [{ name, values: valuesOf('before'), compared: daysOf(grouped.earlier) }] : []),
      ]}
    />
  );
}

const headOfMeasure = ({ report }: Pick<Props, 'report'>, name: string) =>
  name === 'rows' ? titleOf(report) : headOf(name);

/** What groups are called. */
function useNames(group: Grouping | undefined) {
  const { aliases } = useContext(VisitContext);
  return (label: string | null) => {
    if (label === null) return 'none';
    if (isAliasKind(group)) return aliases?.[group].get(label) ?? label;
    return group === 'week' ? `Week of ${formatDay(label)}` : formatDay(label);
  };
}

function Measure({
  shown,
  name,
  value,
}: Pick<Asked, 'shown'> & { name: string; value: string | null | undefined }) {
  const column = shown.find((one) => one.name === name) ?? { name: 'count', type: 'bigint' };
  return <FieldValue column={column} row={{ [column.name]: value ?? null }} />;
}

/** A link to the rows of a group. */
function GroupLabel({ report, entered, grouped, label }: Props & { label: string | null }) {
  const { group } = grouped;
  const name = useNames(group)(label);
  if (label === null) return <span class="nothing">{name}</span>;
  const rows = { ...entered, group: '', compare: '', sort: '', page: '', of: '' };
  const [from, to] = isAliasKind(group) ? [] : daysOfLabel(group!, label);
  const fields = isAliasKind(group) ? { [group]: label } : { range: '', from, to };
  return (
    <a href={reportHref(report.view, { ...rows, ...fields })} title={label}>
      {name}
    </a>
  );
}

function daysOfLabel(group: Grouping, label: string): [string, string] {
  if (group === 'month') return [`${label}-01`, endOf(`${label}-01`)];
  return [label, group === 'week' ? addDays(label, 6) : label];
}
