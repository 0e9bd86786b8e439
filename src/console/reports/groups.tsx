import { useContext } from 'preact/hooks';
import { isAmount } from '../../reports/column-kinds.ts';
import { type Group, type Grouping, type Groups, mostGroups } from '../../reports/groups.ts';
import { daysOf, nameOfGroup, rowsOfGroup, tableOf } from '../../reports/groups-table.ts';
import { labelOfColumn } from '../../reports/labels.ts';
import { titleOf } from '../../reports/report.ts';
import { isAliasKind } from '../../store/aliases.ts';
import { Chart } from '../ui/chart.tsx';
import { VisitContext } from '../ui/context.ts';
import { LinkList } from '../ui/filters.tsx';
import { Table } from '../ui/table.tsx';
import { formatCount } from '../ui/values.tsx';
import { CutNote, columnOfSums, type GroupProps } from './compared.tsx';
import { DownloadMenu } from './download-menu.tsx';
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
      <div class="actions">
        <DownloadMenu {...props} ofGroups />
      </div>
      <ReportFilters {...props} />
      {!groups ? (
        <p class="warning" role="status">
          The query timed out. Choose a business or fewer days.
        </p>
      ) : groups.isCut ? (
        <CutNote {...props} />
      ) : (
        <>
          <GroupChart {...props} groups={groups} />
          <Measures {...props} groups={groups} />
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
    name: labelOfColumn(report, name),
    href: reportHref(report.view, { ...entered, of: name }),
    current: name === groups.of,
  }));
  return <LinkList label="Compared" links={links} />;
}

const mostBars = 31;
const mostNames = 12;

function GroupChart(props: GroupProps) {
  const { report, shown, groups, grouped } = props;
  const { of } = groups;
  const hasNames = isAliasKind(grouped.group);
  const nameOf = useNames(grouped.group);
  const drawn = groups.groups.slice(0, hasNames ? mostNames : mostBars);
  const valuesOf = (period: 'now' | 'before') => drawn.map((one) => one[period][of] ?? null);
  const name = labelOfColumn(report, of);
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
  const { report, entered, grouped, groups } = props;
  const { group, sort } = grouped;
  const { lead, columns, rows, total } = tableOf(props, grouped, groups);
  return (
    <>
      <p class="note">
        {groups.count > mostGroups &&
          `The first ${formatCount(mostGroups)} of ${formatCount(groups.count)} groups. `}
        <a href={reportHref(report.view, { ...entered, group: '', compare: '', sort: '' })}>Show the rows</a>
      </p>
      <Table
        label={`${titleOf(report)} by ${group}`}
        rows={rows}
        empty="No matching rows."
        columns={[
          { head: lead.title, cell: ({ label }) => <GroupLabel {...props} label={label} />, sort: 'label' },
          ...columns.map(columnOfSums).map((column) => ({ ...column, total: total && column.cell(total) })),
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
  return (label: string | null) => nameOfGroup(group, label, aliases);
}

/** A link to the rows of a group. */
function GroupLabel({ report, entered, grouped, label }: GroupProps & Pick<Group, 'label'>) {
  const name = useNames(grouped.group)(label);
  if (label === null) return <span class="nothing">{name}</span>;
  const others = { ...entered, group: '', compare: '', sort: '', page: '', of: '' };
  return (
    <a href={reportHref(report.view, { ...others, ...rowsOfGroup(grouped.group!, label) })} title={label}>
      {name}
    </a>
  );
}
