import { useContext } from 'preact/hooks';
import { isAmount } from '../../reports/column-kinds.ts';
import { type Group, type Grouping, type Groups, mostGroups } from '../../reports/groups.ts';
import { addDays, endOf } from '../../reports/periods.ts';
import { titleOf } from '../../reports/report.ts';
import { isAliasKind } from '../../store/aliases.ts';
import { Chart } from '../ui/chart.tsx';
import { VisitContext } from '../ui/context.ts';
import { headOf } from '../ui/field-value.tsx';
import { LinkList } from '../ui/filters.tsx';
import { Table } from '../ui/table.tsx';
import { formatDay } from '../ui/time.ts';
import { formatCount } from '../ui/values.tsx';
import { CutNote, comparedColumns, daysOf, type GroupProps, headOfMeasure, Measure } from './compared.tsx';
import { reportHref } from './form.ts';
import { ReportFilters } from './report-filters.tsx';

/** A report's rows, summed by group, and compared with those of an earlier period. Without groups: the query timed out. */
export function GroupsPage({
  groups,
  ...props
}: Omit<GroupProps, 'groups'> & { groups: Groups | undefined }) {
  return (
    <>
      <p>{props.report.line}</p>
      <ReportFilters {...props} />
      {!groups ? (
        <p class="warning" role="status">
          The query timed out. Choose a business or fewer days.
        </p>
      ) : groups.isCut ? (
        <CutNote {...props} />
      ) : (
        <>
          <Measures {...props} groups={groups} />
          <GroupChart {...props} groups={groups} />
          <GroupTable {...props} groups={groups} />
        </>
      )}
    </>
  );
}

/** What can be compared. */
function Measures(props: GroupProps) {
  const { report, entered, grouped, groups } = props;
  if (!grouped.earlier) return null;
  const links = groups.measures.map((name) => ({
    name: headOfMeasure(props, name),
    href: reportHref(report.view, { ...entered, of: name }),
    current: name === groups.of,
  }));
  return <LinkList label="Compared" links={links} />;
}

const mostBars = 31;
const mostNames = 12;

function GroupChart(props: GroupProps) {
  const { shown, groups, grouped } = props;
  const { of } = groups;
  const hasNames = isAliasKind(grouped.group);
  const nameOf = useNames(grouped.group);
  const drawn = groups.groups.slice(0, hasNames ? mostNames : mostBars);
  const valuesOf = (period: 'now' | 'before') => drawn.map((one) => one[period][of] ?? null);
  const name = headOfMeasure(props, of);
  return (
    <Chart
      title={`${name} by ${grouped.group}`}
      kind={hasNames ? 'names' : 'bar'}
      amounts={shown.some((column) => column.name === of && isAmount(column))}
      labels={drawn.map(({ label }) => nameOf(label))}
      series={[
        { name, values: valuesOf('now') },
        ...(grouped.earlier ? [{ name, values: valuesOf('before'), compared: daysOf(grouped.earlier) }] : []),
      ]}
    />
  );
}

function GroupTable(props: GroupProps) {
  const { report, entered } = props;
  const { group, earlier, sort } = props.grouped;
  const { measures, of, groups, count, total } = props.groups;
  const sums = earlier
    ? comparedColumns<Group>(props, (one) => [of, one])
    : measures.map((name) => ({
        head: headOfMeasure(props, name),
        numeric: true,
        sort: name,
        cell: ({ now }: Group) => <Measure {...props} name={name} value={now[name]} />,
      }));
  const columns = sums.map((column) => ({ ...column, total: column.cell(total) }));
  return (
    <>
      <p class="note">
        {count > mostGroups && `The first ${formatCount(mostGroups)} of ${formatCount(count)} groups. `}
        <a href={reportHref(report.view, { ...entered, group: '', compare: '', sort: '' })}>Show the rows</a>
      </p>
      <Table
        label={`${titleOf(report)} by ${group}`}
        rows={groups}
        empty="No matching rows."
        columns={[
          { head: headOf(group!), cell: (one) => <GroupLabel {...props} label={one.label} />, sort: 'label' },
          ...columns,
        ]}
        sorting={{
          by: sort?.replace('-', '') ?? '',
          descending: sort?.startsWith('-') ?? false,
          href: (by, down) => reportHref(report.view, { ...entered, sort: down ? `-${by}` : by }),
        }}
      />
    </>
  );
}

/** What groups are called. */
function useNames(group: Grouping | undefined) {
  const { aliases } = useContext(VisitContext);
  return (label: string | null) => {
    if (label === null) return 'none';
    if (isAliasKind(group)) return aliases?.[group].get(label) ?? label;
    return group === 'week' ? `Week of ${formatDay(label)}` : formatDay(label);
  };
}

/** A link to the rows of a group. */
function GroupLabel({ report, entered, grouped, label }: GroupProps & Pick<Group, 'label'>) {
  const { group } = grouped;
  const name = useNames(group)(label);
  if (label === null) return <span class="nothing">{name}</span>;
  const [from, to] = isAliasKind(group) ? [] : daysOfLabel(group!, label);
  const fields = isAliasKind(group) ? { [group]: label } : { range: '', from, to };
  const others = { ...entered, group: '', compare: '', sort: '', page: '', of: '' };
  return (
    <a href={reportHref(report.view, { ...others, ...fields })} title={label}>
      {name}
    </a>
  );
}

function daysOfLabel(group: Grouping, label: string): [string, string] {
  if (group === 'month') return [`${label}-01`, endOf(`${label}-01`)];
  return [label, group === 'week' ? addDays(label, 6) : label];
}
