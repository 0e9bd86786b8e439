import type { Groups } from '../../reports/groups.ts';
import { type GroupRow, type GroupTable, tableOf } from '../../reports/groups-table.ts';
import type { Asked } from '../../reports/queries.ts';
import { countedRows } from '../../reports/totals.ts';
import { FieldValue } from '../ui/field-value.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { formatCount, Nothing } from '../ui/values.tsx';
import type { AskedForm } from './form.ts';

export type GroupProps = AskedForm & { groups: Groups };

/** The sums of all rows, and those of an earlier period. */
export function Compared(props: GroupProps) {
  const { groups, grouped } = props;
  if (groups.isCut) return <CutNote {...props} />;
  const table = tableOf(props, grouped, groups);
  return (
    <Table
      label="Compared with the earlier period"
      rows={table.rows}
      columns={[
        { head: table.lead.title, cell: ({ label }) => label, rowHead: true },
        ...table.columns.map(columnOfSums),
      ]}
    />
  );
}

const percent = new Intl.NumberFormat('en-IN', {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});

/** Less of these is better. */
const isLoss = (name: string) =>
  /^(due|discount|deleted|cancelled|no_show|aborted|waiting|failed)/.test(name);

/** A rise or a fall is told by its sign too, and not by colour alone. */
export function columnOfSums(column: GroupTable['columns'][number]): Column<GroupRow> {
  const { name, title, sort } = column;
  const show = ({ type = column.type, values, change }: GroupRow) => {
    if (sort !== 'change_share') return <FieldValue column={{ name, type }} row={values} />;
    if (values[name]) return percent.format(Number(values[name]));
    return change === 0 ? <Nothing /> : 'new';
  };
  const cell = (row: GroupRow) => {
    if (!sort.startsWith('change')) return show(row);
    const better = isLoss(row.measure) ? -row.change : row.change;
    return <span class={better < 0 ? 'bad' : better > 0 ? 'good' : undefined}>{show(row)}</span>;
  };
  return { head: title, sort, numeric: true, cell };
}

export const CutNote = ({ report }: Pick<Asked, 'report'>) => (
  <p class="warning" role="status">
    There are more than {formatCount(countedRows(report))} rows, and they are not summed. Choose a business or
    fewer days.
  </p>
);
